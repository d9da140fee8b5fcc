// Frames from the network: a connection's records or lengths with frames, or datagrams.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "extras/streams/basic/sources.h"
#include "extras/streams/support/live_source.h"
#include "extras/streams/support/open_file.h"
#include "extras/streams/support/plugin_error.h"
#include "extras/streams/support/socket.h"

namespace remotecl::plugins {
namespace {

// How often a thread checks whether it is to end.
constexpr std::chrono::milliseconds kTick{50};
constexpr std::size_t kDatagramMax = 64u << 10;

std::uint64_t wall_clock_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// Cuts what a connection delivers into frames.
class Connection {
 public:
  Connection(const StreamName& name, File listener, File connection)
      : listener_(std::move(listener)),
        connection_(std::move(connection)),
        takes_another_(name.is_on("loop")),
        record_(name.number("records", 0, 1, kFrameMax)),
        frame_max_(name.number("max", kFrameUsual, 1, kFrameMax)) {
    if ((record_ != 0) == name.is_on("lengths")) {
      throw PluginError(kWrongName, "a stream of tcp: needs records=BYTES or lengths=1");
    }
    begin_frame();
  }

  std::optional<Frame> receive(bool& is_over) {
    if (connection_.get() < 0 && !accept()) return std::nullopt;
    if (!wait_for_socket(connection_.get(), POLLIN, kTick)) return std::nullopt;
    const ssize_t got = ::recv(connection_.get(), wanted_.data() + have_, wanted_.size() - have_, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (got < 0) throw PluginError(kGone, std::string("the connection is lost: ") + std::strerror(errno));
    if (got == 0) return end(is_over);
    have_ += static_cast<std::size_t>(got);
    if (have_ < wanted_.size()) return std::nullopt;
    if (is_length_) return begin_data(), std::nullopt;
    Frame frame{std::move(wanted_), {}};
    frame.info.timestamp_ns = wall_clock_ns();
    begin_frame();
    return frame;
  }

 private:
  bool accept() {
    if (!wait_for_socket(listener_.get(), POLLIN, kTick)) return false;
    connection_ = File(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    return connection_.get() >= 0;
  }

  std::optional<Frame> end(bool& is_over) {
    if (takes_another_) {  // drops the unfinished frame of the sender that has gone
      connection_ = File();
      begin_frame();
      return std::nullopt;
    }
    if (have_ != 0 || (record_ == 0 && !is_length_)) throw PluginError(kBroken, "the connection ended within a frame");
    is_over = true;
    return std::nullopt;
  }

  void begin_frame() {
    is_length_ = record_ == 0;
    wanted_.assign(is_length_ ? sizeof(std::uint32_t) : record_, std::byte{});
    have_ = 0;
  }

  void begin_data() {
    std::uint32_t length = 0;
    std::memcpy(&length, wanted_.data(), sizeof length);
    if (length == 0 || length > frame_max_) {
      throw PluginError(kBroken,
                        "a frame of " + std::to_string(length) + " bytes came, and max=" + std::to_string(frame_max_));
    }
    is_length_ = false;
    wanted_.assign(length, std::byte{});
    have_ = 0;
  }

  File listener_, connection_;
  const bool takes_another_;  // accepts another sender when the present one has gone
  const std::uint64_t record_, frame_max_;
  std::vector<std::byte> wanted_;
  std::size_t have_ = 0;
  bool is_length_ = false;
};

std::optional<Frame> receive_datagram(int socket) {
  if (!wait_for_socket(socket, POLLIN, kTick)) return std::nullopt;
  Frame frame{std::vector<std::byte>(kDatagramMax), {}};
  const ssize_t got = ::recv(socket, frame.bytes.data(), frame.bytes.size(), MSG_DONTWAIT);
  if (got < 0) return std::nullopt;
  frame.bytes.resize(static_cast<std::size_t>(got));
  frame.info.timestamp_ns = wall_clock_ns();
  return frame;
}

std::unique_ptr<Source> live(const StreamName& name, LiveSource::Receive receive) {
  return std::make_unique<LiveSource>(std::move(receive), name.wants_newest(),
                                      name.number("depth", kDepthUsual, 1, kDepthMax), name.patience());
}

}  // namespace

std::unique_ptr<Source> open_tcp_source(const StreamName& name, const Rules& rules) {
  const bool listens = name.scheme() == "tcp-listen";
  name.allow_keys({"records", "lengths", "max", "policy", "depth", "wait", listens ? "loop" : "wait"});
  File listener = listens ? listen_socket(rules, name.place(), SOCK_STREAM) : File();
  File connection = listens ? File() : connect_socket(rules, name.place(), SOCK_STREAM, name.patience());
  const auto stream = std::make_shared<Connection>(name, std::move(listener), std::move(connection));
  return live(name, [stream](bool& is_over) { return stream->receive(is_over); });
}

std::unique_ptr<Source> open_udp_source(const StreamName& name, const Rules& rules) {
  name.allow_keys({"policy", "depth", "wait"});
  const auto socket = std::make_shared<File>(listen_socket(rules, name.place(), SOCK_DGRAM));
  return live(name, [socket](bool&) { return receive_datagram(socket->get()); });
}

}  // namespace remotecl::plugins
