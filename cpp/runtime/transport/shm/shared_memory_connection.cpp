#include "runtime/transport/shm/shared_memory_connection.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "runtime/base/futex.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

// How much is copied before the other side is informed. Small transfers use small pieces, so that both sides
// start early; of large pieces, a helper thread copies half (64 MiB of an H200: 11.1 GB/s with 64 KiB, 12.5
// with 256).
constexpr std::size_t kPieceBytesMin = 64u << 10, kPieceBytesMax = 256u << 10;
constexpr std::size_t kPieces = 8;
// How long a reader sleeps on a futex, which wakes quickly, before it moves to the doorbell.
constexpr auto kReaderNap = 100ms;
// How often a writer checks whether its peer still lives.
constexpr auto kWriterNap = 200ms;
// How often a reader checks whether a broken doorbell was given up.
constexpr auto kBrokenNap = 100ms;

constexpr auto word_of(RingSleep sleep) { return static_cast<std::uint32_t>(sleep); }

int checked(int descriptor, const char* what) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), what);
  return descriptor;
}

}  // namespace

SharedMemoryConnection::SharedMemoryConnection(std::unique_ptr<SharedMemorySegment> segment,
                                               std::unique_ptr<Connection> doorbell)
    : segment_(std::move(segment)),
      doorbell_(std::move(doorbell)),
      in_words_(segment_->in_words()),
      out_words_(segment_->out_words()),
      in_(in_words_, segment_->in_memory()),
      out_(out_words_, segment_->out_memory()),
      ready_(checked(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      handle_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (handle_ < 0 || ::epoll_ctl(handle_, EPOLL_CTL_ADD, ready_, &event) != 0 ||
      ::epoll_ctl(handle_, EPOLL_CTL_ADD, doorbell_->wait_handle(), &event) != 0) {
    const int error = errno;
    ::close(ready_);
    if (handle_ >= 0) ::close(handle_);
    throw std::system_error(error, std::generic_category(), "epoll");
  }
  watched_ = doorbell_->wait_handle();
}

ResumableConnection& SharedMemoryConnection::keep_doorbell(std::chrono::milliseconds window,
                                                           ResumableConnection::Hooks hooks, const Share& share) {
  peer_ = ProcessWatch(segment_->peer_process());
  hooks.hopeless = [this, theirs = std::move(hooks.hopeless)] {
    return over() || peer_.has_ended() || (theirs && theirs());
  };
  std::shared_ptr<Connection> carrier = share ? share(std::move(doorbell_)) : std::move(doorbell_);
  auto kept = std::make_unique<ResumableConnection>(std::move(carrier), window, std::move(hooks));
  resumable_ = kept.get();
  doorbell_ = std::move(kept);
  if (peer_.handle() >= 0) {
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(handle_, EPOLL_CTL_ADD, peer_.handle(), &event);
  }
  follow_doorbell();
  return *resumable_;
}

SharedMemoryConnection::~SharedMemoryConnection() {
  shutdown();
  ::close(handle_);
  ::close(ready_);
}

std::size_t SharedMemoryConnection::read_some(MutableBytes to) {
  if (to.empty()) return 0;
  for (;;) {
    const bool last_look = over();  // read first: what the peer wrote before its end is in the ring by now
    const std::size_t count = take(to);
    if (count != 0) return count;
    if (last_look || !wait_for_data()) return 0;  // closed, broken, or silent for longer than the read timeout
  }
}

std::ptrdiff_t SharedMemoryConnection::try_read_some(MutableBytes to) {
  if (to.empty()) return 0;
  for (;;) {
    const bool last_look = over();
    const std::size_t count = take(to);
    if (count != 0) return static_cast<std::ptrdiff_t>(count);
    if (last_look) {
      set_ready();
      return 0;
    }
    clear_ready();
    drain_doorbell();
    in_words_.reader_sleeps.store(word_of(RingSleep::kOnDoorbell), std::memory_order_seq_cst);
    if (nothing_to_read()) return -1;
    in_words_.reader_sleeps.store(word_of(RingSleep::kAwake), std::memory_order_seq_cst);
    set_ready();
  }
}

void SharedMemoryConnection::await_briefly() {
  if (nothing_to_read()) spin_.until([this] { return !nothing_to_read(); });
}

bool SharedMemoryConnection::write(iovec* parts, int count) {
  std::size_t total = 0;
  for (int i = 0; i < count; ++i) total += parts[i].iov_len;
  const std::size_t piece = piece_of(total);
  while (count > 0) {
    if (over()) return false;
    const std::size_t moved = out_.put(
        {static_cast<const std::byte*>(parts->iov_base), std::min(parts->iov_len, piece - out_.unpublished())});
    parts->iov_base = static_cast<std::byte*>(parts->iov_base) + moved;
    parts->iov_len -= moved;
    if (out_.unpublished() == piece) publish();
    if (parts->iov_len == 0) {
      ++parts;
      --count;
    } else if (moved == 0) {
      publish();
      if (!wait_for_room()) return false;
    }
  }
  publish();
  return true;
}

std::ptrdiff_t SharedMemoryConnection::try_write(Bytes from) {
  if (over()) return -1;
  const std::size_t piece = piece_of(from.size());
  std::size_t total = 0;
  while (total < from.size()) {
    const std::size_t moved = out_.put(from.subspan(total, std::min(from.size() - total, piece)));
    if (moved == 0) break;
    publish();
    total += moved;
  }
  if (total == 0 && !from.empty() && (!out_.sound() || peer_hung_up())) {
    shutdown();
    return -1;
  }
  return static_cast<std::ptrdiff_t>(total);
}

// Wakes both threads of both sides. It does not look at the words, because the peer may have written anything
// there.
void SharedMemoryConnection::shutdown() {
  if (shut_.exchange(true)) return;
  out_words_.ended.store(1, std::memory_order_seq_cst);
  for (RingWords* words : {&in_words_, &out_words_}) {
    for (auto* sleeps : {&words->reader_sleeps, &words->writer_sleeps}) {
      sleeps->store(word_of(RingSleep::kAwake), std::memory_order_seq_cst);
      futex_wake(*sleeps);
    }
  }
  if (doorbell_ != nullptr) doorbell_->shutdown();  // none: keep_doorbell() has failed
}

bool SharedMemoryConnection::over() const {
  return shut_.load(std::memory_order_seq_cst) || in_words_.ended.load(std::memory_order_seq_cst) != 0;
}

std::size_t SharedMemoryConnection::piece_of(std::size_t size) const {
  return std::min(std::clamp(size / kPieces, kPieceBytesMin, kPieceBytesMax), segment_->out_memory().size() / 4);
}

std::size_t SharedMemoryConnection::take(MutableBytes to) {
  const std::size_t piece = piece_of(to.size());
  std::size_t total = 0;
  while (total < to.size()) {
    const std::size_t count = in_.take(to.subspan(total, std::min(to.size() - total, piece)));
    if (count == 0) break;
    total += count;
    auto& sleeps = in_words_.writer_sleeps;
    if (sleeps.load(std::memory_order_seq_cst) != word_of(RingSleep::kAwake) && in_.half_empty()) {
      sleeps.store(word_of(RingSleep::kAwake), std::memory_order_seq_cst);
      futex_wake(sleeps);
    }
  }
  if (!in_.sound()) shutdown();
  bytes_received_.fetch_add(total, std::memory_order_relaxed);
  return total;
}

bool SharedMemoryConnection::nothing_to_read() { return !in_.has_data() && in_.sound() && !over(); }

// Returns false if nothing arrives within the read timeout.
bool SharedMemoryConnection::wait_for_data() {
  set_ready();
  if (spin_.until([this] { return !nothing_to_read(); })) return true;
  const auto timeout = read_timeout_.load(std::memory_order_relaxed);
  const auto deadline = timeout.count() != 0 ? Clock::now() + timeout : Clock::time_point::max();
  auto& sleeps = in_words_.reader_sleeps;
  auto bed = RingSleep::kOnFutex;
  bool in_time = true;
  while (in_time && nothing_to_read()) {
    sleeps.store(word_of(bed), std::memory_order_seq_cst);
    if (nothing_to_read()) {
      auto left = Clock::duration::max();
      if (timeout.count() != 0) left = std::max(deadline - Clock::now(), Clock::duration::zero());
      if (bed == RingSleep::kOnDoorbell) {
        wait_for_doorbell(left);
      } else if (!futex_wait(sleeps, word_of(bed), std::min<Clock::duration>(left, kReaderNap))) {
        bed = RingSleep::kOnDoorbell;
      }
      in_time = timeout.count() == 0 || Clock::now() < deadline;
    }
    sleeps.store(word_of(RingSleep::kAwake), std::memory_order_seq_cst);
  }
  return in_time || in_.has_data();
}

void SharedMemoryConnection::wait_for_doorbell(Clock::duration time) {
  if (resumable_ != nullptr && resumable_->broken()) time = std::min<Clock::duration>(time, kBrokenNap);
  pollfd waits[] = {{doorbell_->wait_handle(), POLLIN, 0}, {peer_.handle(), POLLIN, 0}};
  const auto time_ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  ::poll(waits, 2, static_cast<int>(std::min<std::int64_t>(time_ms, 3'600'000)));
  drain_doorbell();
}

void SharedMemoryConnection::drain_doorbell() {
  if (over()) return;  // the memory says so before the doorbell, which ends too
  std::byte rings[64];
  // The peer is gone, which ends this side's writer too.
  if (doorbell_->try_read_some(rings) == 0 || peer_.has_ended()) return shutdown();
  if (resumable_ == nullptr) return;
  resumable_->end_if_due();
  follow_doorbell();
}

// The descriptor to poll changes whenever the doorbell breaks or is replaced.
void SharedMemoryConnection::follow_doorbell() {
  const std::uint64_t carriers = resumable_->carriers();  // read first, because another one may come meanwhile
  const int handle = resumable_->wait_handle();
  if (handle == watched_ && carriers == watched_carriers_) return;
  ::epoll_ctl(handle_, EPOLL_CTL_DEL, watched_, nullptr);
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(handle_, EPOLL_CTL_ADD, handle, &event);
  watched_ = handle;
  watched_carriers_ = carriers;
  watched_carrier_ = resumable_->reader();
}

void SharedMemoryConnection::set_ready() {
  if (std::exchange(ready_is_set_, true)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(ready_, &one, sizeof one);
}

void SharedMemoryConnection::clear_ready() {
  if (!std::exchange(ready_is_set_, false)) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(ready_, &count, sizeof count);
}

void SharedMemoryConnection::publish() {
  const std::size_t count = out_.unpublished();
  if (count == 0) return;
  bytes_sent_.fetch_add(count, std::memory_order_relaxed);
  out_.publish();
  auto& sleeps = out_words_.reader_sleeps;
  if (sleeps.load(std::memory_order_seq_cst) == word_of(RingSleep::kAwake)) return;
  if (sleeps.exchange(word_of(RingSleep::kAwake)) == word_of(RingSleep::kOnDoorbell)) {
    const std::byte ring{1};
    if (resumable_ != nullptr) {
      resumable_->write({&ring, 1});  // keeps the ring until the doorbell is replaced
    } else {
      doorbell_->try_write({&ring, 1});  // a full socket has enough rings in it
    }
  } else {
    futex_wake(sleeps);
  }
}

// Sleeps until the reader wakes this thread, unless `is_over`. Returns false if the time passes first.
template <class Condition>
bool SharedMemoryConnection::sleep_unless(Condition is_over, Clock::duration time) {
  auto& sleeps = out_words_.writer_sleeps;
  sleeps.store(word_of(RingSleep::kOnFutex), std::memory_order_seq_cst);
  const bool woken = is_over() || futex_wait(sleeps, word_of(RingSleep::kOnFutex), time);
  sleeps.store(word_of(RingSleep::kAwake), std::memory_order_seq_cst);
  return woken;
}

// Returns false if the connection is over.
bool SharedMemoryConnection::wait_for_room() {
  room_spin_.until([this] { return out_.has_room() || !out_.sound() || over(); });
  for (;;) {
    if (out_.has_room()) return true;
    if (!out_.sound()) shutdown();
    if (over()) return false;
    const bool woken = sleep_unless([this] { return out_.has_room() || over(); }, kWriterNap);
    if (!woken && peer_hung_up()) shutdown();
  }
}

bool SharedMemoryConnection::peer_hung_up() {
  if (resumable_ != nullptr) {
    resumable_->end_if_due();
    return resumable_->ended() || peer_.has_ended();
  }
  pollfd look{doorbell_->wait_handle(), POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0;
}

}  // namespace remotecl
