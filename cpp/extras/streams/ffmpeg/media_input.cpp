#include "extras/streams/ffmpeg/media_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "extras/streams/support/plugin_error.h"
#include "extras/streams/support/socket.h"

namespace remotecl::plugins {
namespace {

using libav::check;
using libav::functions;

constexpr int kBufferSize = 64 << 10;
// No protocol has this name, so nothing within a stream makes FFmpeg open anything.
constexpr const char* kNoProtocol = "none";

// Options that avformat_open_input() takes.
class Dictionary {
 public:
  Dictionary() = default;
  ~Dictionary() { functions().av_dict_free(&entries_); }
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;
  void set(const char* key, const std::string& value) { functions().av_dict_set(&entries_, key, value.c_str(), 0); }
  libav::AVDictionary** operator&() { return &entries_; }

 private:
  libav::AVDictionary* entries_ = nullptr;
};

File accept_one(const File& listener, std::chrono::milliseconds patience) {
  if (!wait_for_socket(listener.get(), POLLIN, patience)) throw PluginError(kGone, "nobody has connected (wait=)");
  File connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection.get() < 0) throw PluginError(kGone, "the connection is lost");
  return connection;
}

// The protocols that FFmpeg may use for an address with this scheme.
std::string protocols_of(const std::string& scheme) {
  if (scheme == "http") return "http,tcp";
  if (scheme == "https") return "https,tls,tcp";
  if (scheme == "rtsp") return "rtsp,rtp,udp,tcp";
  if (scheme == "srt" || scheme == "rtmp") return scheme + ",tcp,udp";
  throw PluginError(kWrongName, "\"" + scheme +
                                    ":\" is no source of video: write file:, tcp:, tcp-listen:, udp:, camera:, or "
                                    "an address with rtsp://, http://, https://, rtmp:// or srt://");
}

}  // namespace

std::unique_ptr<MediaInput> MediaInput::open(const StreamName& name, const Rules& rules) {
  functions();
  std::unique_ptr<MediaInput> input(new MediaInput);
  const std::string& scheme = name.scheme();
  const bool is_address = name.place().starts_with("//");
  input->patience_ms_ = static_cast<int>(name.patience().count());
  input->is_live_ = scheme != "file";
  if (scheme == "file") {
    input->open_bytes(open_allowed(rules, "read", name.place(), O_RDONLY | O_NONBLOCK), true, 0);
  } else if (!is_address && scheme == "tcp") {
    input->open_bytes(connect_socket(rules, name.place(), SOCK_STREAM, name.patience()), false, input->patience_ms_);
  } else if (scheme == "tcp-listen") {
    File connection = accept_one(listen_socket(rules, name.place(), SOCK_STREAM), name.patience());
    input->open_bytes(std::move(connection), false, input->patience_ms_);
  } else if (!is_address && scheme == "udp") {
    input->open_bytes(listen_socket(rules, name.place(), SOCK_DGRAM), false, input->patience_ms_);
  } else if (scheme == "camera") {
    rules.require("camera", name.place());
    input->open_camera(name);
  } else {
    protocols_of(scheme);
    if (!is_address) throw PluginError(kWrongName, "\"" + name.text() + "\" is no address: write " + scheme + "://");
    rules.require_address(name.text());
    input->open_address(name);
  }
  check(functions().avformat_find_stream_info(input->context_, nullptr), "looking for video in " + name.text(),
        kBroken);
  return input;
}

MediaInput::~MediaInput() {
  if (context_ != nullptr) functions().avformat_close_input(&context_);
  if (io_ != nullptr) {
    // FFmpeg may have replaced the buffer, so it is read from the context: the second member, after av_class.
    functions().av_freep(reinterpret_cast<std::byte*>(io_) + sizeof(void*));
    functions().avio_context_free(&io_);
  }
}

void MediaInput::open_bytes(File file, bool can_seek, int patience_ms) {
  struct stat about {};
  if (can_seek && (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))) {
    throw PluginError(kWrongName, "this is no regular file");
  }
  file_ = std::move(file);
  patience_ms_ = patience_ms;
  auto* const buffer = static_cast<unsigned char*>(functions().av_malloc(kBufferSize));
  io_ = functions().avio_alloc_context(buffer, kBufferSize, 0, this, &MediaInput::read, nullptr,
                                       can_seek ? &MediaInput::seek : nullptr);
  context_ = functions().avformat_alloc_context();
  if (io_ == nullptr || context_ == nullptr) throw PluginError(kBroken, "no memory for the stream");
  context_->io = io_;
  Dictionary options;
  options.set("protocol_whitelist", kNoProtocol);
  check(functions().avformat_open_input(&context_, "", nullptr, &options), "opening the video", kBroken);
}

int MediaInput::read(void* input, std::uint8_t* to, int size) {
  const auto& self = *static_cast<const MediaInput*>(input);
  for (;;) {
    const ssize_t got = ::read(self.file_.get(), to, static_cast<std::size_t>(size));
    if (got > 0) return static_cast<int>(got);
    if (got == 0) return libav::kEnd;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return -errno;
    if (!wait_for_socket(self.file_.get(), POLLIN, std::chrono::milliseconds(self.patience_ms_))) return -ETIMEDOUT;
  }
}

std::int64_t MediaInput::seek(void* input, std::int64_t offset, int whence) {
  const auto& self = *static_cast<const MediaInput*>(input);
  struct stat about {};
  if (whence == libav::kSeekSize) return ::fstat(self.file_.get(), &about) == 0 ? about.st_size : -errno;
  const off_t at = ::lseek(self.file_.get(), offset, whence & 3);
  return at < 0 ? -errno : at;
}

void MediaInput::open_camera(const StreamName& name) {
  const void* const format = functions().av_find_input_format("video4linux2");
  if (format == nullptr) {
    throw PluginError(kGone, "this server's FFmpeg has no cameras: install libavdevice (Debian: apt install ffmpeg)");
  }
  Dictionary options;
  if (const std::string size = name.word("size", ""); !size.empty()) options.set("video_size", size);
  if (const std::string rate = name.word("rate", ""); !rate.empty()) options.set("framerate", rate);
  check(functions().avformat_open_input(&context_, name.place().c_str(), format, &options), name.place(), kGone);
}

void MediaInput::open_address(const StreamName& name) {
  Dictionary options;
  options.set("protocol_whitelist", protocols_of(name.scheme()));
  options.set("rw_timeout", std::to_string(1000 * name.patience().count()));
  options.set("timeout", std::to_string(1000 * name.patience().count()));
  check(functions().avformat_open_input(&context_, name.text().c_str(), nullptr, &options), name.text(), kGone);
}

void* MediaInput::parameters(int index) const {
  void* const stream = context_->streams[index];
  if (functions().release == 5) return static_cast<libav::StreamOf5*>(stream)->parameters;
  return static_cast<libav::StreamOf6*>(stream)->parameters;
}

libav::Rational MediaInput::time_base(int index) const {
  void* const stream = context_->streams[index];
  if (functions().release == 5) return static_cast<libav::StreamOf5*>(stream)->time_base;
  return static_cast<libav::StreamOf6*>(stream)->time_base;
}

}  // namespace remotecl::plugins
