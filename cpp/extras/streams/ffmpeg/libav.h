#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

// The part of FFmpeg's interface that is used here, declared by ourselves because the machine's libraries may be any of
// releases 5 to 8. Their structs begin alike; what differs is reached by functions and named options, and in one place
// by the number of the release. With FFmpeg's own headers the program would fit the one release that it was compiled
// with.
namespace remotecl::plugins::libav {

struct Rational {
  int numerator, denominator;
};

struct AVFrame {
  std::uint8_t* data[8];
  int linesize[8];
  std::uint8_t** extended_data;
  int width, height;
  int samples;
  int format;
  int hidden[4];  // a flag, the type of picture and the shape of pixels, in an order that depends on the release
  std::int64_t pts;
};
static_assert(offsetof(AVFrame, width) == 104 && offsetof(AVFrame, format) == 116 && offsetof(AVFrame, pts) == 136);

struct AVPacket {
  void* buffer;
  std::int64_t pts, dts;
  std::uint8_t* data;
  int size;
  int stream;
  int flags;
};
static_assert(offsetof(AVPacket, data) == 24 && offsetof(AVPacket, flags) == 40);

struct AVFormatContext {
  const void* options;
  const void *input, *output;
  void* hidden;
  void* io;
  int flags;
  unsigned stream_count;
  void** streams;
};
static_assert(offsetof(AVFormatContext, io) == 32 && offsetof(AVFormatContext, streams) == 48);

// The fields of a stream, at their places in each release.
struct StreamOf5 {
  int index, id;
  void* hidden;
  Rational time_base;
  std::byte more[184];
  void* parameters;
};
static_assert(offsetof(StreamOf5, time_base) == 16 && offsetof(StreamOf5, parameters) == 208);
struct StreamOf6 {
  const void* options;
  int index, id;
  void* parameters;
  void* hidden;
  Rational time_base;
};
static_assert(offsetof(StreamOf6, parameters) == 16 && offsetof(StreamOf6, time_base) == 32);

struct AVCodec {
  const char* name;
};

struct AVCodecContext;
struct AVDictionary;
struct AVIOContext;
struct SwsContext;

constexpr int kVideo = 0;  // AVMEDIA_TYPE_VIDEO
constexpr std::int64_t kNoTime = INT64_MIN;
constexpr int kAgain = -11;            // AVERROR(EAGAIN)
constexpr int kEnd = -0x20464f45;      // AVERROR_EOF
constexpr int kDamaged = -0x41444e49;  // AVERROR_INVALIDDATA
constexpr int kKeyPacket = 1;
constexpr int kInChildren = 1;  // AV_OPT_SEARCH_CHILDREN
constexpr int kSeekSize = 0x10000;
constexpr int kSeekBackward = 1, kSeekByte = 2;
constexpr int kBilinear = 2;
constexpr std::size_t kPadding = 64;  // zeros behind a packet

// The libraries' functions. Loaded once for the process, and never unloaded.
struct Functions {
  int release = 0;  // 5 to 8

  // libavutil
  void* (*av_malloc)(std::size_t);
  void (*av_freep)(void*);
  void (*av_log_set_level)(int);
  int (*av_strerror)(int, char*, std::size_t);
  AVFrame* (*av_frame_alloc)();
  void (*av_frame_free)(AVFrame**);
  void (*av_frame_unref)(AVFrame*);
  void (*av_frame_move_ref)(AVFrame*, AVFrame*);
  int (*av_frame_get_buffer)(AVFrame*, int);
  int (*av_opt_set)(void*, const char*, const char*, int);
  int (*av_dict_set)(AVDictionary**, const char*, const char*, int);
  void (*av_dict_free)(AVDictionary**);
  int (*av_get_pix_fmt)(const char*);
  // libavcodec
  const AVCodec* (*avcodec_find_decoder_by_name)(const char*);
  const AVCodec* (*avcodec_find_encoder_by_name)(const char*);
  AVCodecContext* (*avcodec_alloc_context3)(const AVCodec*);
  void (*avcodec_free_context)(AVCodecContext**);
  int (*avcodec_parameters_to_context)(AVCodecContext*, const void*);
  int (*avcodec_open2)(AVCodecContext*, const AVCodec*, AVDictionary**);
  int (*avcodec_send_packet)(AVCodecContext*, const AVPacket*);
  int (*avcodec_receive_frame)(AVCodecContext*, AVFrame*);
  int (*avcodec_send_frame)(AVCodecContext*, const AVFrame*);
  int (*avcodec_receive_packet)(AVCodecContext*, AVPacket*);
  void (*avcodec_flush_buffers)(AVCodecContext*);
  AVPacket* (*av_packet_alloc)();
  void (*av_packet_free)(AVPacket**);
  void (*av_packet_unref)(AVPacket*);
  int (*av_new_packet)(AVPacket*, int);
  // libavformat
  AVFormatContext* (*avformat_alloc_context)();
  int (*avformat_open_input)(AVFormatContext**, const char*, const void*, AVDictionary**);
  void (*avformat_close_input)(AVFormatContext**);
  int (*avformat_find_stream_info)(AVFormatContext*, AVDictionary**);
  int (*av_find_best_stream)(AVFormatContext*, int, int, int, const AVCodec**, int);
  int (*av_read_frame)(AVFormatContext*, AVPacket*);
  int (*av_seek_frame)(AVFormatContext*, int, std::int64_t, int);
  int (*avformat_network_init)();
  AVIOContext* (*avio_alloc_context)(unsigned char*, int, int, void*, int (*)(void*, std::uint8_t*, int), void*,
                                     std::int64_t (*)(void*, std::int64_t, int));
  void (*avio_context_free)(AVIOContext**);
  const void* (*av_find_input_format)(const char*);
  // libswscale
  SwsContext* (*sws_getCachedContext)(SwsContext*, int, int, int, int, int, int, int, void*, void*, const double*);
  void (*sws_freeContext)(SwsContext*);
  int (*sws_scale)(SwsContext*, const std::uint8_t* const*, const int*, int, int, std::uint8_t* const*, const int*);
  // libavdevice, which cameras need; null without it
  void (*avdevice_register_all)();
};

// Throws PluginError, which says what is missing.
const Functions& functions();

// Throws PluginError with what FFmpeg says of a negative code. `what`: what failed.
int check(int code, const std::string& what, std::int32_t error);

template <class T, auto kFree>
struct Freed {
  void operator()(T* thing) const { (functions().*kFree)(&thing); }
};
using FramePointer = std::unique_ptr<AVFrame, Freed<AVFrame, &Functions::av_frame_free>>;
using PacketPointer = std::unique_ptr<AVPacket, Freed<AVPacket, &Functions::av_packet_free>>;
using CodecPointer = std::unique_ptr<AVCodecContext, Freed<AVCodecContext, &Functions::avcodec_free_context>>;

}  // namespace remotecl::plugins::libav
