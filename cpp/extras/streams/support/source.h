#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "extras/streams/support/frame_info.h"

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
  // Nothing will come any more, because of an error that read() has thrown.
  virtual bool is_lost() const { return false; }

 protected:
  // Goes to the next frame, whose size is then known. Nothing: the stream has ended. Throws PluginError.
  virtual std::optional<FrameInfo> find() = 0;
  // Puts the frame that was found straight into `to`, which has at least its size. Throws PluginError.
  virtual void put(std::span<std::byte> to) = 0;

 private:
  std::optional<FrameInfo> found_;
  std::uint64_t count_ = 0;
};

}  // namespace remotecl::plugins
