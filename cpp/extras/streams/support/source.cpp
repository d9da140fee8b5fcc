#include "extras/streams/support/source.h"

#include <string>

#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {

FrameInfo Source::read(std::span<std::byte> to) {
  if (!found_) found_ = find();
  if (!found_) {
    FrameInfo end;
    end.number = count_;
    end.flags = kFrameEnd;
    return end;
  }
  FrameInfo info = *found_;
  if (info.size > to.size()) {
    throw PluginError(kTooSmall, "the frame has " + std::to_string(info.size) + " bytes, and the buffer " +
                                     std::to_string(to.size()));
  }
  found_.reset();
  put(to);
  info.number = count_ + info.dropped;
  count_ = info.number + 1;
  return info;
}

}  // namespace remotecl::plugins
