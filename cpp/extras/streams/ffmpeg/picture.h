#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "extras/streams/ffmpeg/libav.h"
#include "extras/streams/support/source.h"
#include "extras/streams/support/stream_name.h"

namespace remotecl::plugins {

constexpr int kWidthMax = 16384;                // of a picture, and its height
constexpr const char* kPixelsMax = "67108864";  // 8192 x 8192

// How pictures lie in buffers, without gaps: NV12 or RGBA.
enum class PixelFormat : std::uint64_t { kNv12 = 1, kRgba = 2 };

PixelFormat pixel_format_of(const StreamName& name);
std::size_t size_of_picture(PixelFormat format, int width, int height);

// Turns a codec's pictures into those of buffers, and back. One thread.
class PictureConverter {
 public:
  explicit PictureConverter(PixelFormat format);
  ~PictureConverter();
  PictureConverter(const PictureConverter&) = delete;
  PictureConverter& operator=(const PictureConverter&) = delete;

  // Of a decoded picture as it will be in a buffer. Throws PluginError if it has no proper size.
  FrameInfo info_of(const libav::AVFrame& picture) const;
  // `to` has at least the picture's size.
  void from(const libav::AVFrame& picture, std::span<std::byte> to);
  Frame frame_of(const libav::AVFrame& picture);
  // `picture` has its size, format and memory.
  void into(libav::AVFrame& picture, std::span<const std::byte> bytes);

 private:
  const PixelFormat format_;
  const int native_format_;
  libav::SwsContext* context_ = nullptr;
  std::vector<std::byte> scratch_;
};

}  // namespace remotecl::plugins
