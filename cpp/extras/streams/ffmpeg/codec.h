#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "extras/streams/ffmpeg/libav.h"
#include "extras/streams/ffmpeg/picture.h"
#include "extras/streams/support/stream_name.h"

namespace remotecl::plugins {

// One packet in, at most one picture out. One thread.
class PacketDecoder {
 public:
  // CODEC[?format=...], as a StreamName with the scheme "codec". Throws PluginError.
  explicit PacketDecoder(const StreamName& name);
  // An empty packet asks for what the decoder still holds. Nothing: no picture is complete yet, or there is none left.
  std::optional<Frame> decode(std::span<const std::byte> packet);

 private:
  void send(std::span<const std::byte> packet);
  libav::FramePointer receive();

  libav::CodecPointer context_;
  libav::PacketPointer packet_;
  std::deque<libav::FramePointer> waiting_;  // given by the decoder before it took another packet
  PictureConverter converter_;
  bool is_draining_ = false;
};

// One picture in, at most one packet out. One thread.
class PictureEncoder {
 public:
  // CODEC?size=WxH[&format=...&rate=...&bitrate=...&gop=...]. Throws PluginError.
  explicit PictureEncoder(const StreamName& name);
  std::optional<Frame> encode(std::span<const std::byte> picture);

 private:
  void open();

  const StreamName name_;
  int width_ = 0, height_ = 0;
  int native_format_ = 0;
  libav::CodecPointer context_;
  libav::PacketPointer packet_;
  libav::FramePointer picture_;
  PictureConverter converter_;
  std::int64_t count_ = 0;
  bool is_draining_ = false;
};

// Opens a decoder that gives each picture as soon as it is complete: `codec`, or a hardware decoder of the same codec
// if the name asks for one (hardware=). `prepare` sets what is known of the stream before the decoder is opened. Throws
// PluginError.
libav::CodecPointer open_decoder(const StreamName& name, const libav::AVCodec* codec,
                                 const std::function<void(const libav::CodecPointer&)>& prepare);

}  // namespace remotecl::plugins
