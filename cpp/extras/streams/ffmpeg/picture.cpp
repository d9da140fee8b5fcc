#include "extras/streams/ffmpeg/picture.h"

#include <cstring>

#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {
namespace {

using libav::functions;

// Where the planes of a picture without gaps begin, and their rows' bytes.
struct Planes {
  std::uint8_t* data[4] = {};
  int rows[4] = {};
};

Planes planes_of(PixelFormat format, int width, int height, std::uint8_t* bytes) {
  if (format == PixelFormat::kRgba) return {{bytes}, {4 * width}};
  const int chroma_row = (width + 1) / 2 * 2;
  return {{bytes, bytes + static_cast<std::size_t>(width) * static_cast<std::size_t>(height)}, {width, chroma_row}};
}

}  // namespace

PixelFormat pixel_format_of(const StreamName& name) {
  const std::string format = name.word("format", "nv12");
  if (format == "nv12") return PixelFormat::kNv12;
  if (format == "rgba") return PixelFormat::kRgba;
  throw PluginError(kWrongName, "format=" + format + " of a stream's name: write nv12 or rgba");
}

std::size_t size_of_picture(PixelFormat format, int width, int height) {
  const auto w = static_cast<std::size_t>(width), h = static_cast<std::size_t>(height);
  return format == PixelFormat::kRgba ? 4 * w * h : w * h + (w + 1) / 2 * 2 * ((h + 1) / 2);
}

PictureConverter::PictureConverter(PixelFormat format)
    : format_(format), native_format_(functions().av_get_pix_fmt(format == PixelFormat::kRgba ? "rgba" : "nv12")) {}

PictureConverter::~PictureConverter() { functions().sws_freeContext(context_); }

FrameInfo PictureConverter::info_of(const libav::AVFrame& picture) const {
  const int width = picture.width, height = picture.height;
  if (width <= 0 || height <= 0 || width > kWidthMax || height > kWidthMax) {
    throw PluginError(kBroken, "a picture has a size that is none");
  }
  FrameInfo info;
  info.size = size_of_picture(format_, width, height);
  info.width = static_cast<std::uint64_t>(width);
  info.height = static_cast<std::uint64_t>(height);
  info.format = static_cast<std::uint64_t>(format_);
  return info;
}

void PictureConverter::from(const libav::AVFrame& picture, std::span<std::byte> to) {
  const int width = picture.width, height = picture.height;
  const std::size_t size = info_of(picture).size;
  context_ = functions().sws_getCachedContext(context_, width, height, picture.format, width, height, native_format_,
                                              libav::kBilinear, nullptr, nullptr, nullptr);
  if (context_ == nullptr) throw PluginError(kBroken, "FFmpeg cannot convert the pictures of this stream");
  // The last row may be written in whole vectors, beyond its end.
  const bool has_room = to.size() >= size + libav::kPadding;
  if (!has_room) scratch_.resize(size + libav::kPadding);
  std::byte* const bytes = has_room ? to.data() : scratch_.data();
  const Planes planes = planes_of(format_, width, height, reinterpret_cast<std::uint8_t*>(bytes));
  functions().sws_scale(context_, picture.data, picture.linesize, 0, height, planes.data, planes.rows);
  if (!has_room) std::memcpy(to.data(), bytes, size);
}

Frame PictureConverter::frame_of(const libav::AVFrame& picture) {
  Frame frame{{}, info_of(picture)};
  frame.bytes.resize(frame.info.size + libav::kPadding);
  from(picture, frame.bytes);
  frame.bytes.resize(frame.info.size);
  return frame;
}

void PictureConverter::into(libav::AVFrame& picture, std::span<const std::byte> bytes) {
  const std::size_t size = size_of_picture(format_, picture.width, picture.height);
  if (bytes.size() != size) {
    throw PluginError(kTooSmall, "a picture of " + std::to_string(picture.width) + "x" +
                                     std::to_string(picture.height) + " has " + std::to_string(size) + " bytes, not " +
                                     std::to_string(bytes.size()));
  }
  context_ =
      functions().sws_getCachedContext(context_, picture.width, picture.height, native_format_, picture.width,
                                       picture.height, picture.format, libav::kBilinear, nullptr, nullptr, nullptr);
  if (context_ == nullptr) throw PluginError(kBroken, "FFmpeg cannot convert to the encoder's pictures");
  // Only read.
  auto* const data = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(bytes.data()));
  const Planes planes = planes_of(format_, picture.width, picture.height, data);
  functions().sws_scale(context_, planes.data, planes.rows, 0, picture.height, picture.data, picture.linesize);
}

}  // namespace remotecl::plugins
