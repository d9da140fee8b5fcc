#include "fakes/wire/fault_relay.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <optional>
#include <stdexcept>
#include <vector>

#include "runtime/base/mutex.h"

namespace remotecl::testing {
namespace {

sockaddr_in address_of(const std::string& target) {
  const std::size_t colon = target.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(target.substr(colon + 1))));
  if (::inet_pton(AF_INET, target.substr(0, colon).c_str(), &address.sin_addr) != 1) {
    throw std::invalid_argument(target + " is not a numeric IPv4 address");
  }
  return address;
}

int connect_to(const sockaddr_in& address) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

void send_at_once(int descriptor) {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool write_all(int descriptor, const std::byte* data, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(descriptor, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// Bytes on their way to a socket, each for the same time, however many there are. Owned by the thread that puts them
// in; all have arrived when it ends.
class LongLine {
 public:
  LongLine(int to, std::chrono::microseconds delay) : to_(to), delay_(delay), writer_([this] { write(); }) {}
  ~LongLine() {
    put({});
    writer_.join();
  }
  LongLine(const LongLine&) = delete;
  LongLine& operator=(const LongLine&) = delete;

  void put(std::vector<std::byte> bytes) {
    const MutexLock lock(mutex_);
    pieces_.push_back({Clock::now() + delay_, std::move(bytes)});
    changed_.notify_one();
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Piece {
    Clock::time_point due;
    std::vector<std::byte> bytes;  // none: the end
  };

  Piece next() {
    const MutexLock lock(mutex_);
    while (pieces_.empty()) changed_.wait(mutex_);
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    return piece;
  }
  void write() {
    for (Piece piece = next(); !piece.bytes.empty(); piece = next()) {
      std::this_thread::sleep_until(piece.due);
      write_all(to_, piece.bytes.data(), piece.bytes.size());  // the reader of the other direction sees the end
    }
  }

  const int to_;
  const std::chrono::microseconds delay_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Piece> pieces_ GUARDED_BY(mutex_);
  std::thread writer_;
};

}  // namespace

FaultRelay::FaultRelay(const std::string& target, const Faults& faults) : faults_(faults) {
  lead_to(target);
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = address_of("127.0.0.1:0");
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the relay cannot listen");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

FaultRelay::~FaultRelay() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (Link& link : links_) end(link);
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (Link& link : links_) {
    end(link);
    link.forth.join();
    if (link.back.joinable()) link.back.join();
    ::close(link.near);
    if (link.far >= 0) ::close(link.far);
  }
  ::close(listener_);
}

void FaultRelay::end(Link& link) {
  ::shutdown(link.near, SHUT_RDWR);
  if (link.far >= 0) ::shutdown(link.far, SHUT_RDWR);
}

int FaultRelay::cut_peers() {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (Link& link : links_) {
    if (!link.between_servers || link.cut) continue;
    link.cut = true;
    end(link);
    ++count;
  }
  return count;
}

void FaultRelay::end_silent() {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  for (Link& link : links_) {
    if (link.cut_at <= now) end(link);
  }
}

void FaultRelay::disturb(std::mt19937_64& random) {
  end_silent();
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  std::vector<Link*> links;
  for (Link& link : links_) {
    if (!link.cut && link.far >= 0 && link.running != 0) links.push_back(&link);
  }
  if (links.empty()) return;
  Link& link = *links[random() % links.size()];
  const auto kind = static_cast<Fault>(random() % (faults_.corrupts ? kFaultKinds : kCorruption));
  const auto while_ms = std::chrono::milliseconds(random() % 60);
  ++counts_[kind];
  if (kind == kStall) {
    link.stalled_until = now + while_ms;
    return;
  }
  if (kind == kCorruption) {
    link.corrupts_next = true;
    return;
  }
  link.cut = true;
  if (kind == kCut) return end(link);
  link.is_silent = true;
  ::shutdown(kind == kNearLost ? link.near : link.far.load(), SHUT_RDWR);
  if (kind == kFarLost) link.cut_at = now + while_ms;
}

void FaultRelay::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (Link& link : links_) {
    link.cut = true;
    end(link);
  }
}

void FaultRelay::lead_to(const std::string& target) {
  const std::lock_guard lock(mutex_);
  target_ = address_of(target);
}

void FaultRelay::open() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
}

void FaultRelay::settle() {
  const std::lock_guard lock(mutex_);
  for (Link& link : links_) {
    if (link.cut_at != Clock::time_point::max()) end(link);
  }
}

void FaultRelay::reap() {
  const std::lock_guard lock(mutex_);
  links_.remove_if([](Link& link) {
    if (!link.cut || link.running != 0) return false;
    link.forth.join();
    if (link.back.joinable()) link.back.join();
    ::close(link.near);
    ::close(link.far);
    return true;
  });
}

void FaultRelay::accept_all() {
  for (std::uint64_t number = 0;; ++number) {
    const int near = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (near < 0) return;
    reap();
    send_at_once(near);
    const std::lock_guard lock(mutex_);
    Link& link = links_.emplace_back();
    link.near = near;
    link.cut = closed_;  // also when it is open again before the other end is connected: that may be a former target
    link.running = 1;
    link.forth = std::thread([this, &link, seed = faults_.seed + 2 * number] {
      serve(link, seed);
      --link.running;
    });
  }
}

void FaultRelay::serve(Link& link, std::uint64_t seed) {
  // Who connects says first what the connection is for.
  std::array<std::byte, kHelloSize> bytes;
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t more = ::recv(link.near, bytes.data() + got, bytes.size() - got, 0);
    if (more <= 0) return;
    got += static_cast<std::size_t>(more);
  }
  const auto hello = decode_frame<Hello>(bytes);
  const int far = connect_to([this] {
    const std::lock_guard lock(mutex_);
    return target_;
  }());
  {
    const std::lock_guard lock(mutex_);
    link.between_servers = hello.role == Role::kPeerControl || hello.role == Role::kPeerBulk;
    link.far = far;
    if (far < 0 || stopping_ || link.cut) {
      link.cut = true;
      return end(link);
    }
    send_at_once(far);
    ++link.running;
    link.back = std::thread([this, &link, seed] {
      pump(link, link.far, link.near, seed + 1);
      --link.running;
    });
  }
  if (write_all(far, bytes.data(), bytes.size())) pump(link, link.near, far, seed);
}

void FaultRelay::pump(Link& link, int from, int to, std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };
  std::optional<LongLine> line;
  if (faults_.line_delay.count() != 0) line.emplace(to, faults_.line_delay);
  std::vector<std::byte> chunk(256u << 10);
  for (;;) {
    const ssize_t got = ::recv(from, chunk.data(), chunk.size(), 0);
    if (got <= 0) break;
    if (link.is_silent) return;
    std::this_thread::sleep_until(link.stalled_until.load());
    const auto size = static_cast<std::size_t>(got);
    if (link.corrupts_next.exchange(false)) chunk[below(size)] ^= static_cast<std::byte>(1u << below(8));
    for (std::size_t at = 0; at < size;) {
      std::size_t piece = size - at;
      const bool steady = faults_.delay_max.count() == 0;
      if (!steady && below(4) == 0) piece = std::min<std::size_t>(piece, 1 + below(below(2) == 0 ? 24 : 8000));
      if (!steady && below(8) == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(below(1 + faults_.delay_max.count())));
      }
      if (line) {
        line->put({chunk.data() + at, chunk.data() + at + piece});
      } else if (!write_all(to, chunk.data() + at, piece)) {
        return;
      }
      at += piece;
    }
  }
  line.reset();
  if (!link.is_silent) ::shutdown(to, SHUT_WR);
}

}  // namespace remotecl::testing
