#include "plugins/support/source.h"

#include <cstring>
#include <string>

#include "plugins/support/plugin_error.h"

namespace remotecl::plugins {

FrameInfo Source::read(std::span<std::byte> to) {
  if (!kept_) kept_ = next();
  if (!kept_) {
    FrameInfo end;
    end.number = count_;
    end.flags = kFrameEnd;
    return end;
  }
  const std::size_t size = kept_->bytes.size();
  if (size > to.size()) {
    throw PluginError(kTooSmall,
                      "the frame has " + std::to_string(size) + " bytes, and the buffer " + std::to_string(to.size()));
  }
  if (size != 0) std::memcpy(to.data(), kept_->bytes.data(), size);
  FrameInfo info = kept_->info;
  info.size = size;
  info.number = count_ + info.dropped;
  count_ = info.number + 1;
  kept_.reset();
  return info;
}

}  // namespace remotecl::plugins
