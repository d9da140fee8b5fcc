#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plugins/support/frame_info.h"

namespace remotecl::plugins {

struct Frame {
  std::vector<std::byte> bytes;
  FrameInfo info;
};

// Something that frames come from. One thread at a time.
class Source {
 public:
  virtual ~Source() = default;

  // Puts the next frame into `to`. If it is larger, throws PluginError, and the frame stays the next one. At the end
  // of the stream the information says so.
  FrameInfo read(std::span<std::byte> to);

 protected:
  // Nothing: the stream has ended. Throws PluginError.
  virtual std::optional<Frame> next() = 0;

 private:
  std::optional<Frame> kept_;
  std::uint64_t count_ = 0;
};

}  // namespace remotecl::plugins
