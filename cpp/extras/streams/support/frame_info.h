#pragma once

#include <cstdint>

namespace remotecl::plugins {

// The last argument of remotecl.read and remotecl.decode: eight ulongs.
struct FrameInfo {
  std::uint64_t number = 0;        // of the stream, from 0; dropped ones count
  std::uint64_t timestamp_ns = 0;  // see docs/streams.md
  std::uint64_t dropped = 0;       // directly before this one
  std::uint64_t size = 0;          // bytes
  std::uint64_t width = 0, height = 0;
  std::uint64_t format = 0;  // of pixels: 1 NV12, 2 RGBA; 0: bytes
  std::uint64_t flags = 0;   // 1: the stream has ended, and this is no frame; 2: a key frame
};

constexpr std::uint64_t kFrameEnd = 1;
constexpr std::uint64_t kFrameKey = 2;

}  // namespace remotecl::plugins
