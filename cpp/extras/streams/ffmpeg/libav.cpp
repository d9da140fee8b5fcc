#include "extras/streams/ffmpeg/libav.h"

#include <dlfcn.h>

#include <array>
#include <optional>

#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins::libav {
namespace {

// The numbers of the libraries in their file names.
struct Release {
  int release, util, codec, format, scale, device;
};
constexpr std::array kReleases = {Release{8, 60, 62, 62, 9, 62}, Release{7, 59, 61, 61, 8, 61},
                                  Release{6, 58, 60, 60, 7, 60}, Release{5, 57, 59, 59, 6, 59}};

void* open_library(const char* name, int number) {
  return ::dlopen((std::string(name) + ".so." + std::to_string(number)).c_str(), RTLD_NOW | RTLD_LOCAL);
}

class Loader {
 public:
  explicit Loader(void* library) : library_(library) {}
  template <class T>
  void operator()(T*& function, const char* name) const {
    function = reinterpret_cast<T*>(::dlsym(library_, name));
    if (function == nullptr) throw PluginError(kGone, std::string("FFmpeg's libraries lack ") + name);
  }

 private:
  void* library_;
};

#define LIBAV_LOAD(name) load(all.name, #name)

void load_util(const Loader& load, Functions& all) {
  LIBAV_LOAD(av_malloc);
  LIBAV_LOAD(av_freep);
  LIBAV_LOAD(av_log_set_level);
  LIBAV_LOAD(av_strerror);
  LIBAV_LOAD(av_frame_alloc);
  LIBAV_LOAD(av_frame_free);
  LIBAV_LOAD(av_frame_unref);
  LIBAV_LOAD(av_frame_move_ref);
  LIBAV_LOAD(av_frame_get_buffer);
  LIBAV_LOAD(av_opt_set);
  LIBAV_LOAD(av_dict_set);
  LIBAV_LOAD(av_dict_free);
  LIBAV_LOAD(av_get_pix_fmt);
}

void load_codec(const Loader& load, Functions& all) {
  LIBAV_LOAD(avcodec_find_decoder_by_name);
  LIBAV_LOAD(avcodec_find_encoder_by_name);
  LIBAV_LOAD(avcodec_alloc_context3);
  LIBAV_LOAD(avcodec_free_context);
  LIBAV_LOAD(avcodec_parameters_to_context);
  LIBAV_LOAD(avcodec_open2);
  LIBAV_LOAD(avcodec_send_packet);
  LIBAV_LOAD(avcodec_receive_frame);
  LIBAV_LOAD(avcodec_send_frame);
  LIBAV_LOAD(avcodec_receive_packet);
  LIBAV_LOAD(avcodec_flush_buffers);
  LIBAV_LOAD(av_packet_alloc);
  LIBAV_LOAD(av_packet_free);
  LIBAV_LOAD(av_packet_unref);
  LIBAV_LOAD(av_new_packet);
}

void load_format(const Loader& load, Functions& all) {
  LIBAV_LOAD(avformat_alloc_context);
  LIBAV_LOAD(avformat_open_input);
  LIBAV_LOAD(avformat_close_input);
  LIBAV_LOAD(avformat_find_stream_info);
  LIBAV_LOAD(av_find_best_stream);
  LIBAV_LOAD(av_read_frame);
  LIBAV_LOAD(av_seek_frame);
  LIBAV_LOAD(avformat_network_init);
  LIBAV_LOAD(avio_alloc_context);
  LIBAV_LOAD(avio_context_free);
  LIBAV_LOAD(av_find_input_format);
}

void load_scale(const Loader& load, Functions& all) {
  LIBAV_LOAD(sws_getCachedContext);
  LIBAV_LOAD(sws_freeContext);
  LIBAV_LOAD(sws_scale);
}

std::optional<Functions> load_release(const Release& numbers) {
  void* const util = open_library("libavutil", numbers.util);
  void* const codec = util == nullptr ? nullptr : open_library("libavcodec", numbers.codec);
  void* const format = codec == nullptr ? nullptr : open_library("libavformat", numbers.format);
  void* const scale = format == nullptr ? nullptr : open_library("libswscale", numbers.scale);
  if (scale == nullptr) return std::nullopt;
  Functions all{};
  all.release = numbers.release;
  load_util(Loader(util), all);
  load_codec(Loader(codec), all);
  load_format(Loader(format), all);
  load_scale(Loader(scale), all);
  if (void* const device = open_library("libavdevice", numbers.device)) {
    const Loader load(device);
    LIBAV_LOAD(avdevice_register_all);
    all.avdevice_register_all();
  }
  constexpr int kQuiet = -8;
  all.av_log_set_level(kQuiet);
  all.avformat_network_init();
  return all;
}

}  // namespace

const Functions& functions() {
  static const std::optional<Functions> all = []() -> std::optional<Functions> {
    for (const Release& release : kReleases) {
      if (auto found = load_release(release)) return found;
    }
    return std::nullopt;
  }();
  if (all) return *all;
  throw PluginError(kGone,
                    "this server's machine lacks FFmpeg's libraries libavutil, libavcodec, libavformat and libswscale "
                    "of release 5, 6, 7 or 8: install them (Debian: apt install ffmpeg)");
}

int check(int code, const std::string& what, std::int32_t error) {
  if (code >= 0) return code;
  char text[128] = "unknown error";
  functions().av_strerror(code, text, sizeof text);
  throw PluginError(error, what + ": " + text);
}

}  // namespace remotecl::plugins::libav
