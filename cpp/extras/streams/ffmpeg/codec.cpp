#include "extras/streams/ffmpeg/codec.h"

#include <array>
#include <cstdio>
#include <cstring>

#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {
namespace {

using libav::check;
using libav::functions;

constexpr std::size_t kWaitingMax = 16;  // pictures; a packet of VP9 or AV1 holds 8

// FFmpeg's names for a codec's decoders and encoders, best first.
struct CodecNames {
  std::string_view name;
  std::array<const char*, 3> decoders, encoders;
  const char* pixels;  // that encoders take
  // A decoder that makes its hardware's context itself and gives pictures in this process's memory. Other hardware
  // decoders need fields of AVCodecContext, whose offsets differ among releases.
  const char* hardware;
};
constexpr std::array kCodecs = {
    CodecNames{"h264", {"h264"}, {"libx264", "libopenh264"}, "yuv420p", "h264_cuvid"},
    CodecNames{"hevc", {"hevc"}, {"libx265"}, "yuv420p", "hevc_cuvid"},
    CodecNames{"vp9", {"vp9", "libvpx-vp9"}, {"libvpx-vp9"}, "yuv420p", "vp9_cuvid"},
    CodecNames{"av1", {"libdav1d", "libaom-av1", "av1"}, {"libsvtav1", "libaom-av1"}, "yuv420p", "av1_cuvid"},
    CodecNames{"mjpeg", {"mjpeg"}, {"mjpeg"}, "yuvj420p", "mjpeg_cuvid"},
};

const CodecNames& names_of(const std::string& codec) {
  for (const CodecNames& each : kCodecs) {
    if (each.name == codec) return each;
  }
  throw PluginError(kWrongName, "\"" + codec + "\" is no codec: write h264, hevc, vp9, av1 or mjpeg");
}

const libav::AVCodec* find(const std::array<const char*, 3>& names, const std::string& what, auto find_by_name) {
  for (const char* const name : names) {
    const libav::AVCodec* const codec = name == nullptr ? nullptr : find_by_name(name);
    if (codec != nullptr) return codec;
  }
  throw PluginError(kGone, "this server's FFmpeg has no " + what);
}

// Not every codec has every option.
void set(const libav::CodecPointer& context, const char* option, const std::string& value) {
  functions().av_opt_set(context.get(), option, value.c_str(), libav::kInChildren);
}

libav::CodecPointer make_encoder(const StreamName& name, const libav::AVCodec* codec, const char* pixels) {
  libav::CodecPointer context(functions().avcodec_alloc_context3(codec));
  if (context == nullptr) throw PluginError(kBroken, "no memory for an encoder");
  const std::uint64_t rate = name.number("rate", 30, 1, 1000);
  set(context, "video_size", name.word("size", ""));
  set(context, "pixel_format", pixels);
  set(context, "time_base", "1/" + std::to_string(rate));
  set(context, "b", std::to_string(name.number("bitrate", 4'000'000, 1000, 1'000'000'000)));
  set(context, "g", std::to_string(name.number("gop", 30, 1, 10'000)));
  // Makes the encoder output one packet for each picture, without delay.
  set(context, "bf", "0");
  set(context, "tune", "zerolatency");
  set(context, "preset", "veryfast");
  set(context, "deadline", "realtime");
  set(context, "lag-in-frames", "0");
  return context;
}

libav::CodecPointer make_decoder(const libav::AVCodec* codec) {
  libav::CodecPointer context(functions().avcodec_alloc_context3(codec));
  if (context == nullptr) throw PluginError(kBroken, "no memory for a decoder");
  set(context, "max_pixels", kPixelsMax);
  set(context, "threads", "auto");
  set(context, "thread_type", "slice");
  // Fails instead of guessing a part of a picture.
  set(context, "err_detect", "explode");
  return context;
}

void open_codec(const libav::CodecPointer& context, const libav::AVCodec* codec, const std::string& what) {
  check(functions().avcodec_open2(context.get(), codec, nullptr), what, kBroken);
}

// The hardware decoder of the same codec; empty if there is none.
std::string hardware_for(const libav::AVCodec* codec) {
  for (const CodecNames& each : kCodecs) {
    for (const char* const name : each.decoders) {
      if (name != nullptr && std::string_view(codec->name) == name) return each.hardware;
    }
  }
  return "";
}

enum class Hardware { kOff, kAuto, kOnly };

Hardware hardware_of(const StreamName& name) {
  const std::string word = name.word("hardware", "off");
  if (word == "off") return Hardware::kOff;
  if (word == "auto") return Hardware::kAuto;
  if (word == "only") return Hardware::kOnly;
  throw PluginError(kWrongName, "hardware=" + word + " of a stream's name: write off, auto or only");
}

}  // namespace

libav::CodecPointer open_decoder(const StreamName& name, const libav::AVCodec* codec,
                                 const std::function<void(const libav::CodecPointer&)>& prepare) {
  const auto open = [&prepare](const libav::AVCodec* each) {
    libav::CodecPointer context = make_decoder(each);
    prepare(context);
    open_codec(context, each, std::string("opening the decoder ") + each->name);
    return context;
  };
  const Hardware wanted = hardware_of(name);
  if (wanted == Hardware::kOff) return open(codec);
  std::string why = "its FFmpeg has none for this codec";
  const std::string hardware = hardware_for(codec);
  if (const auto* const found = functions().avcodec_find_decoder_by_name(hardware.c_str())) {
    try {
      return open(found);
    } catch (const PluginError& error) {
      why = error.what();
    }
  }
  if (wanted == Hardware::kAuto) return open(codec);
  throw PluginError(kGone, "this server decodes " + std::string(codec->name) + " in no hardware: " + why);
}

PacketDecoder::PacketDecoder(const StreamName& name)
    : packet_(functions().av_packet_alloc()), converter_(pixel_format_of(name)) {
  name.allow_keys({"format", "hardware"});
  const CodecNames& names = names_of(name.place());
  const auto* codec = find(names.decoders, name.place() + " decoder", functions().avcodec_find_decoder_by_name);
  context_ = open_decoder(name, codec, [](const libav::CodecPointer& context) { set(context, "flags", "+low_delay"); });
}

// Null: no picture is complete yet, or there is none left.
libav::FramePointer PacketDecoder::receive() {
  libav::FramePointer picture(functions().av_frame_alloc());
  if (picture == nullptr) throw PluginError(kBroken, "no memory for a picture");
  const int got = functions().avcodec_receive_frame(context_.get(), picture.get());
  if (got == libav::kAgain || got == libav::kEnd) return nullptr;
  check(got, "decoding", kBroken);
  return picture;
}

void PacketDecoder::send(std::span<const std::byte> packet) {
  const auto& all = functions();
  if (packet.size() > 256u << 20) throw PluginError(kBroken, "a packet of more than 256 MiB");
  check(all.av_new_packet(packet_.get(), static_cast<int>(packet.size())), "keeping the packet", kBroken);
  std::memcpy(packet_->data, packet.data(), packet.size());
  // A packet may hold several pictures, and each call takes one. While the decoder has too many of them, it takes no
  // other packet, so they move to waiting_.
  std::optional<PluginError> error;
  int sent = libav::kAgain;
  for (std::size_t tries = 0; sent == libav::kAgain && tries <= kWaitingMax; ++tries) {
    sent = all.avcodec_send_packet(context_.get(), packet_.get());
    if (sent != libav::kAgain) break;
    try {
      libav::FramePointer picture = receive();
      if (picture != nullptr && waiting_.size() < kWaitingMax) waiting_.push_back(std::move(picture));
    } catch (const PluginError& wrong) {  // of a picture from an earlier packet
      error = wrong;
    }
  }
  all.av_packet_unref(packet_.get());
  check(sent, "decoding", kBroken);
  if (error) throw PluginError(*error);
}

std::optional<Frame> PacketDecoder::decode(std::span<const std::byte> packet) {
  const auto& all = functions();
  if (packet.empty()) {
    if (!is_draining_) {
      // Empties the decoder first, because the end makes it forget a packet that it has not begun.
      while (waiting_.size() < kWaitingMax) {
        libav::FramePointer picture = receive();
        if (picture == nullptr) break;
        waiting_.push_back(std::move(picture));
      }
      all.avcodec_send_packet(context_.get(), nullptr);
    }
    is_draining_ = true;
  } else {
    if (is_draining_) {
      all.avcodec_flush_buffers(context_.get());
      waiting_.clear();
    }
    is_draining_ = false;
    send(packet);
  }
  if (waiting_.empty()) {
    libav::FramePointer picture = receive();
    if (picture == nullptr) return std::nullopt;
    waiting_.push_back(std::move(picture));
  }
  const libav::FramePointer picture = std::move(waiting_.front());
  waiting_.pop_front();
  return converter_.frame_of(*picture);
}

PictureEncoder::PictureEncoder(const StreamName& name)
    : name_(name),
      packet_(functions().av_packet_alloc()),
      picture_(functions().av_frame_alloc()),
      converter_(pixel_format_of(name)) {
  name.allow_keys({"format", "size", "rate", "bitrate", "gop"});
  const std::string size = name.word("size", "");
  if (std::sscanf(size.c_str(), "%dx%d", &width_, &height_) != 2 || width_ < 16 || height_ < 16 || width_ > kWidthMax ||
      height_ > kWidthMax) {
    throw PluginError(kWrongName, "an encoder's name needs size=WIDTHxHEIGHT, each from 16 to 16384");
  }
  open();
}

void PictureEncoder::open() {
  const CodecNames& names = names_of(name_.place());
  const auto* codec = find(names.encoders, name_.place() + " encoder", functions().avcodec_find_encoder_by_name);
  native_format_ = functions().av_get_pix_fmt(names.pixels);
  context_ = make_encoder(name_, codec, names.pixels);
  open_codec(context_, codec, "opening the encoder");
  count_ = 0;
  is_draining_ = false;
}

std::optional<Frame> PictureEncoder::encode(std::span<const std::byte> picture) {
  const auto& all = functions();
  if (picture.empty()) {
    if (!is_draining_) all.avcodec_send_frame(context_.get(), nullptr);
    is_draining_ = true;
  } else {
    // Few encoders take pictures again after the last one, so the next clip gets a new one.
    if (is_draining_) open();
    picture_->width = width_;
    picture_->height = height_;
    picture_->format = native_format_;
    check(all.av_frame_get_buffer(picture_.get(), 0), "keeping the picture", kBroken);
    const libav::FramePointer kept = std::move(picture_);
    picture_.reset(all.av_frame_alloc());
    converter_.into(*kept, picture);
    kept->pts = count_++;
    check(all.avcodec_send_frame(context_.get(), kept.get()), "encoding", kBroken);
  }
  const int got = all.avcodec_receive_packet(context_.get(), packet_.get());
  if (got == libav::kAgain || got == libav::kEnd) return std::nullopt;
  check(got, "encoding", kBroken);
  const auto* const bytes = reinterpret_cast<const std::byte*>(packet_->data);
  Frame frame{{bytes, bytes + packet_->size}, {}};
  frame.info.flags = (packet_->flags & libav::kKeyPacket) != 0 ? kFrameKey : 0;
  frame.info.width = static_cast<std::uint64_t>(width_);
  frame.info.height = static_cast<std::uint64_t>(height_);
  all.av_packet_unref(packet_.get());
  return frame;
}

}  // namespace remotecl::plugins
