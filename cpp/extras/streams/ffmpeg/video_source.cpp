#include "extras/streams/ffmpeg/video_source.h"

#include <algorithm>
#include <string>
#include <thread>

#include "extras/streams/ffmpeg/codec.h"
#include "extras/streams/ffmpeg/media_input.h"
#include "extras/streams/support/live_source.h"
#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {
namespace {

using libav::check;
using libav::functions;
using Clock = std::chrono::steady_clock;

constexpr double kUsualRate = 25;
// FFmpeg's own errors are below this. The system's errors come from the source: a camera that is unplugged gives EINVAL
// or ENODEV, a connection ECONNRESET or ETIMEDOUT.
constexpr int kLastSystemError = -4095;

// Pictures one after another, as they are decoded. One thread.
class VideoDecoder {
 public:
  VideoDecoder(const StreamName& name, const Rules& rules)
      : place_(name.scheme() + ":" + name.place()),
        input_(MediaInput::open(name, rules)),
        packet_(functions().av_packet_alloc()),
        rate_(name.rate()) {
    const libav::AVCodec* codec = nullptr;
    stream_ = check(functions().av_find_best_stream(input_->context(), libav::kVideo, -1, -1, &codec, 0),
                    "looking for video in " + name.text(), kBroken);
    context_ = open_decoder(name, codec, [this](const libav::CodecPointer& context) {
      check(functions().avcodec_parameters_to_context(context.get(), input_->parameters(stream_)),
            "opening the decoder", kBroken);
    });
  }

  bool is_live() const { return input_->is_live(); }

  // Returns 0, or kEnd, or what the decoder says of a defect, after which the next call goes on. The picture's time is
  // in ns since the first one.
  int decode(libav::AVFrame& picture) {
    for (;;) {
      const int got = functions().avcodec_receive_frame(context_.get(), &picture);
      if (got >= 0) {
        picture.pts = time_ns(picture);
        ++count_;
        return 0;
      }
      if (got != libav::kAgain) return got;
      if (is_draining_) return libav::kEnd;
      if (const int sent = send_packet(); sent < 0) return sent;
    }
  }

  void rewind() {
    // Streams without an index cannot be searched by time.
    if (functions().av_seek_frame(input_->context(), stream_, 0, libav::kSeekBackward) < 0) {
      check(functions().av_seek_frame(input_->context(), stream_, 0, libav::kSeekByte), "going back to the beginning",
            kGone);
    }
    functions().avcodec_flush_buffers(context_.get());
    is_draining_ = false;
    first_ns_.reset();
    count_ = 0;
  }

 private:
  // By the rate that the name says, or by the stream's times, or by the usual rate if it has none.
  std::int64_t time_ns(const libav::AVFrame& picture) {
    const libav::Rational base = input_->time_base(stream_);
    if (rate_ != 0 || picture.pts == libav::kNoTime || base.denominator <= 0) {
      return static_cast<std::int64_t>(1e9 * static_cast<double>(count_) / (rate_ != 0 ? rate_ : kUsualRate));
    }
    const double ns = 1e9 * static_cast<double>(picture.pts) * base.numerator / base.denominator;
    if (!first_ns_) first_ns_ = ns;
    // An absurd time is a defect of the stream, so it is clamped.
    return static_cast<std::int64_t>(std::clamp(ns - *first_ns_, 0.0, 1e18));
  }

  // Returns what the decoder says. Throws if there is no packet.
  int send_packet() {
    const int got = functions().av_read_frame(input_->context(), packet_.get());
    if (got == libav::kEnd) {
      is_draining_ = true;
      functions().avcodec_send_packet(context_.get(), nullptr);
      return 0;
    }
    if (input_->is_live() && got < 0 && got >= kLastSystemError) check(got, place_ + " is lost", kGone);
    check(got, "reading the video", kBroken);
    int sent = 0;
    if (packet_->stream == stream_) sent = functions().avcodec_send_packet(context_.get(), packet_.get());
    functions().av_packet_unref(packet_.get());
    return sent;
  }

  const std::string place_;
  const std::unique_ptr<MediaInput> input_;
  const libav::PacketPointer packet_;
  libav::CodecPointer context_;
  int stream_ = 0;
  bool is_draining_ = false;
  std::optional<double> first_ns_;
  const double rate_;
  std::uint64_t count_ = 0;
};

// A file's pictures: as fast as they are read, or at their times.
class FileVideo final : public Source {
 public:
  FileVideo(const StreamName& name, std::unique_ptr<VideoDecoder> decoder)
      : decoder_(std::move(decoder)),
        converter_(pixel_format_of(name)),
        is_paced_(name.is_on("paced")),
        keeps_newest_(name.wants_newest()),
        loops_(name.is_on("loop")) {}

 protected:
  std::optional<FrameInfo> find() override {
    libav::FramePointer picture = ahead_ != nullptr ? std::move(ahead_) : decode();
    if (picture == nullptr) return std::nullopt;
    std::uint64_t dropped = 0;
    while (is_paced_ && keeps_newest_) {
      ahead_ = decode();
      if (ahead_ == nullptr || Clock::now() < due(*ahead_)) break;
      picture = std::move(ahead_);
      ++dropped;
    }
    if (is_paced_) std::this_thread::sleep_until(due(*picture));
    FrameInfo info = converter_.info_of(*picture);
    info.dropped = dropped;
    info.timestamp_ns = static_cast<std::uint64_t>(picture->pts);
    found_ = std::move(picture);
    return info;
  }

  void put(std::span<std::byte> to) override { converter_.from(*found_, to); }

 private:
  libav::FramePointer decode() {
    libav::FramePointer picture(functions().av_frame_alloc());
    int got = decoder_->decode(*picture);
    if (got == libav::kEnd && loops_) {
      decoder_->rewind();
      start_.reset();
      got = decoder_->decode(*picture);
    }
    if (got == libav::kEnd) return nullptr;
    check(got, "decoding", kBroken);
    return picture;
  }

  Clock::time_point due(const libav::AVFrame& picture) {
    const std::chrono::nanoseconds time(picture.pts);
    if (!start_) start_ = Clock::now() - time;
    return *start_ + time;
  }

  const std::unique_ptr<VideoDecoder> decoder_;
  PictureConverter converter_;
  const bool is_paced_, keeps_newest_, loops_;
  std::optional<Clock::time_point> start_;
  libav::FramePointer ahead_, found_;
};

}  // namespace

std::unique_ptr<Source> open_video(const StreamName& name, const Rules& rules) {
  name.allow_keys({"format", "paced", "policy", "loop", "depth", "wait", "size", "rate", "hardware"});
  name.wants_newest();
  pixel_format_of(name);
  auto decoder = std::make_unique<VideoDecoder>(name, rules);
  if (!decoder->is_live()) return std::make_unique<FileVideo>(name, std::move(decoder));
  struct Live {
    Live(std::unique_ptr<VideoDecoder> decoder, PixelFormat format) : decoder(std::move(decoder)), converter(format) {}
    std::unique_ptr<VideoDecoder> decoder;
    PictureConverter converter;
    libav::FramePointer picture{functions().av_frame_alloc()};
  };
  const auto live = std::make_shared<Live>(std::move(decoder), pixel_format_of(name));
  return std::make_unique<LiveSource>(
      [live](bool& is_over) -> std::optional<Frame> {
        const int got = live->decoder->decode(*live->picture);
        is_over = got == libav::kEnd;
        // The network may have lost a part of this picture; the next one may be whole.
        if (is_over || got == libav::kDamaged) return std::nullopt;
        check(got, "decoding", kBroken);
        Frame frame = live->converter.frame_of(*live->picture);
        frame.info.timestamp_ns = static_cast<std::uint64_t>(live->picture->pts);
        functions().av_frame_unref(live->picture.get());
        return frame;
      },
      name.wants_newest(), name.number("depth", 4, 1, 16), name.patience());
}

}  // namespace remotecl::plugins
