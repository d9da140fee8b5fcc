#include "runtime/transport/stream/resumable_connection.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

namespace remotecl {

ResumableConnection::ResumableConnection(std::shared_ptr<Connection> carrier, std::chrono::milliseconds window,
                                         Hooks hooks)
    : hooks_(std::move(hooks)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      carrier_(std::move(carrier)),
      window_(window) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

ResumableConnection::~ResumableConnection() {
  if (wake_ >= 0) ::close(wake_);
}

bool ResumableConnection::adopt_reader() const {
  if (reader_generation_ != generation_.load(std::memory_order_acquire)) {
    MutexLock lock(state_mutex_);
    reader_generation_ = generation_.load(std::memory_order_relaxed);
    reader_ = carrier_;
    detached_ = false;
    std::uint64_t count = 0;
    if (state_ != State::kEnded) [[maybe_unused]]
      const auto taken = ::read(wake_, &count, sizeof count);
  }
  if (detached_) reader_ = nullptr;
  return reader_ != nullptr;
}

bool ResumableConnection::adopt_writer() {
  if (writer_generation_ != generation_.load(std::memory_order_acquire)) {
    MutexLock lock(state_mutex_);
    writer_generation_ = generation_.load(std::memory_order_relaxed);
    writer_ = carrier_;
    sent_ = resume_at_;
  }
  return writer_ != nullptr;
}

// As try_read_some() of a connection; -1 also when there is none.
std::ptrdiff_t ResumableConnection::read_now(MutableBytes to, How how) {
  std::shared_ptr<Connection> gone;
  {
    MutexLock lock(read_mutex_);
    if (!adopt_reader()) return -1;
    const std::ptrdiff_t count = how == How::kBlocking ? static_cast<std::ptrdiff_t>(reader_->read_some(to))
                                 : how == How::kNow    ? reader_->try_read_some(to)
                                                       : reader_->try_read_ahead(to);
    if (count < 0) return -1;
    if (count > 0) {
      bytes_received_.store(bytes_received_.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(count),
                            std::memory_order_relaxed);
    } else {
      gone = std::move(reader_);
      reader_ = nullptr;
    }
    if (count > 0 && bytes_received() - told_ < kAcknowledgeEvery) return count;
    if (count > 0) told_ = bytes_received();
    to = to.first(static_cast<std::size_t>(count));
  }
  if (gone) {
    broke(gone);
    return -1;
  }
  hooks_.acknowledge(told_);
  return static_cast<std::ptrdiff_t>(to.size());
}

std::size_t ResumableConnection::read_some(MutableBytes to) {
  for (;;) {
    const std::ptrdiff_t count = read_now(to, How::kBlocking);
    if (count > 0) return static_cast<std::size_t>(count);
    if (!await_carrier()) return 0;
  }
}

std::ptrdiff_t ResumableConnection::try_read_some(MutableBytes to) { return read(to, How::kNow); }

std::ptrdiff_t ResumableConnection::try_read_ahead(MutableBytes to) { return read(to, How::kAhead); }

std::ptrdiff_t ResumableConnection::read(MutableBytes to, How how) {
  const std::ptrdiff_t count = read_now(to, how);
  return count < 0 && ended() ? 0 : count;
}

// By the thread that reads: until there is a connection that it has not taken. False at the end.
bool ResumableConnection::await_carrier() {
  std::uint64_t taken = 0;
  {
    MutexLock lock(read_mutex_);
    taken = reader_generation_;
    if (reader_ != nullptr && !detached_) return true;
  }
  for (;;) {
    {
      MutexLock lock(state_mutex_);
      if (state_ == State::kEnded) return false;
      if (generation_.load() != taken) return true;
      const auto end = broken_since_ + window_;
      changed_.wait_until(state_mutex_, std::min(end, std::chrono::steady_clock::now() + kHopelessEvery));
    }
    end_if_due();
  }
}

void ResumableConnection::end_if_due() {
  bool is_late = false;
  {
    MutexLock lock(state_mutex_);
    if (state_ != State::kBroken) return;
    is_late = std::chrono::steady_clock::now() >= broken_since_ + window_;
  }
  if (is_late) {
    end("its connection was lost, and no other one took its place in time");
  } else if (hooks_.hopeless && hooks_.hopeless()) {
    end("its connection was lost, and the process at the other end has ended");
  }
}

bool ResumableConnection::is_crowded() {
  kept_.drop_until(acknowledged_.load());
  const bool is_crowded = kept_.owned() > kKeptMax;
  may_be_crowded_.store(is_crowded, std::memory_order_relaxed);
  return is_crowded;
}

bool ResumableConnection::is_still_crowded() {
  MutexLock lock(write_mutex_);
  return is_crowded() && !ended();
}

bool ResumableConnection::await_room() {
  if (!may_be_crowded_.load(std::memory_order_relaxed) && !broken()) return !ended();
  MutexLock lock(write_mutex_);
  while (broken() || (is_crowded() && !ended())) room_.wait_for(write_mutex_, kMissedAfter);
  return !ended();
}

// Sends what is kept and has not been sent to this carrier, blocking. False when that breaks.
bool ResumableConnection::send_kept() {
  while (sent_ < kept_.end()) {
    const Bytes bytes = kept_.at(sent_);
    if (!writer_->write(bytes)) {
      broke(std::exchange(writer_, nullptr));
      return false;
    }
    sent_ += bytes.size();
  }
  return true;
}

// The other side may acknowledge bytes before they are counted here.
void ResumableConnection::offer(std::size_t size) { offered_.store(kept_.end() + size, std::memory_order_release); }

void ResumableConnection::count_sent() { bytes_sent_.store(kept_.end(), std::memory_order_relaxed); }

bool ResumableConnection::write(iovec* parts, int count) {
  assert(count <= 4);
  const auto keep = [&]() REQUIRES(write_mutex_) {
    for (int i = 0; i < count; ++i) kept_.append({static_cast<const std::byte*>(parts[i].iov_base), parts[i].iov_len});
  };
  std::size_t size = 0;
  std::array<iovec, 4> sent;  // sending changes them
  std::copy_n(parts, std::min<std::size_t>(count, sent.size()), sent.begin());
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  return write_kept(size, keep, [&]() REQUIRES(write_mutex_) { return writer_->write(sent.data(), count); });
}

bool ResumableConnection::write_lent(Bytes header, Bytes lent) {
  const auto keep = [&]() REQUIRES(write_mutex_) {
    kept_.append(header);
    kept_.lend(lent);
  };
  return write_kept(header.size() + lent.size(), keep,
                    [&]() REQUIRES(write_mutex_) { return writer_->write(header, lent); });
}

// Sends first: the other side receives while this one copies.
template <class Keep, class Send>
bool ResumableConnection::write_kept(std::size_t size, Keep&& keep, Send&& send) {
  if (writers_wait_ && !await_room()) return false;
  MutexLock lock(write_mutex_);
  if (ended()) return false;
  const bool is_next = adopt_writer() && sent_ == kept_.end();
  offer(size);
  kept_.drop_until(acknowledged_.load(std::memory_order_relaxed));
  const bool is_sent = is_next && send();
  keep();
  count_sent();
  if (kept_.owned() > kKeptMax) is_crowded();
  if (is_sent) {
    sent_ += size;
  } else if (is_next) {
    broke(std::exchange(writer_, nullptr));
  } else if (writer_ != nullptr) {
    send_kept();
  }
  return true;
}

// Copying costs as much as sending. Where the other side is near its acknowledgement comes sooner.
void ResumableConnection::reclaim(std::uint64_t position) {
  if (acknowledged_bytes() >= position) return;
  const auto is_due = [&] { return acknowledged_.load() < position && !ended(); };
  MutexLock lock(write_mutex_);
  if (impatient_ > 0) {
    --impatient_;
  } else {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (is_due() && room_.wait_until(write_mutex_, end) == std::cv_status::no_timeout) {
    }
    if (is_due()) impatient_ = kImpatient;
  }
  while (writers_wait_ && is_due() && broken()) room_.wait_for(write_mutex_, kMissedAfter);
  kept_.drop_until(acknowledged_.load());
  kept_.own_lent(position);
  is_crowded();
}

void ResumableConnection::tell_received() {
  if (bytes_received() == told_) return;
  told_ = bytes_received();
  hooks_.acknowledge(told_);
}

std::ptrdiff_t ResumableConnection::try_write(Bytes from) {
  MutexLock lock(write_mutex_);
  if (is_crowded()) return ended() ? -1 : 0;
  if (!adopt_writer()) return ended() ? -1 : 0;
  std::ptrdiff_t count = 0;
  while (sent_ < kept_.end() && count >= 0) {
    count = writer_->try_write(kept_.at(sent_));
    if (count == 0) return 0;
    if (count > 0) sent_ += static_cast<std::uint64_t>(count);
  }
  offer(from.size());
  if (count >= 0) count = writer_->try_write(from);
  if (count < 0) {
    broke(std::exchange(writer_, nullptr));
    return ended() ? -1 : 0;
  }
  const auto size = static_cast<std::size_t>(count);
  kept_.append(from.first(size));
  sent_ += size;
  count_sent();
  return count;
}

int ResumableConnection::wait_handle() const {
  MutexLock lock(read_mutex_);
  return adopt_reader() ? reader_->wait_handle() : wake_;
}

std::shared_ptr<Connection> ResumableConnection::reader() const {
  MutexLock lock(read_mutex_);
  return reader_;
}

std::size_t ResumableConnection::streams() const {
  MutexLock lock(state_mutex_);
  return carrier_ != nullptr ? carrier_->streams() : 1;
}

void ResumableConnection::await_writable(std::chrono::milliseconds time) {
  std::shared_ptr<Connection> writer;
  {
    MutexLock lock(write_mutex_);
    if (is_crowded()) {
      if (!ended()) room_.wait_for(write_mutex_, std::min(time, kMissedAfter));
      return;
    }
    if (adopt_writer()) writer = writer_;
  }
  if (writer) return writer->await_writable(time);
  MutexLock lock(state_mutex_);
  if (state_ == State::kBroken) changed_.wait_for(state_mutex_, time);
}

void ResumableConnection::set_read_timeout(std::chrono::milliseconds timeout) {
  MutexLock lock(state_mutex_);
  if (carrier_) carrier_->set_read_timeout(timeout);
}

bool ResumableConnection::acknowledged(std::uint64_t bytes) {
  // No lock that a writer holds: it may be blocked until this thread reads on.
  if (bytes > offered_.load(std::memory_order_acquire)) return false;
  std::uint64_t before = acknowledged_.load();
  while (bytes > before && !acknowledged_.compare_exchange_weak(before, bytes)) {
  }
  room_.notify_all();
  return true;
}

void ResumableConnection::signal_reader() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
  changed_.notify_all();
}

// A carrier is of no use any more, whoever has found that out.
void ResumableConnection::broke(const std::shared_ptr<Connection>& carrier) {
  bool ends = false;
  {
    MutexLock lock(state_mutex_);
    if (carrier_ != carrier) return;
    vanished_ = carrier->vanished();
    carrier_ = nullptr;
    ends = ends_when_broken_ || window_.count() == 0;
    state_ = ends ? State::kEnded : State::kBroken;
    broken_since_ = std::chrono::steady_clock::now();
    if (ends) signal_reader();
  }
  carrier->shutdown();
  room_.notify_all();
  if (!ends && hooks_.broken) hooks_.broken();
}

void ResumableConnection::end(const std::string& reason) {
  std::shared_ptr<Connection> carrier;
  {
    MutexLock lock(state_mutex_);
    if (state_ == State::kEnded) return;
    state_ = State::kEnded;
    reason_ = reason;
    carrier = std::move(carrier_);
    carrier_ = nullptr;
    signal_reader();
  }
  if (carrier) carrier->shutdown();
  room_.notify_all();
}

void ResumableConnection::release() {
  std::shared_ptr<Connection> reader, writer;
  {
    MutexLock lock(read_mutex_);
    reader.swap(reader_);
    detached_ = true;
  }
  {
    MutexLock lock(write_mutex_);
    writer.swap(writer_);
    kept_ = {};
    may_be_crowded_ = false;
  }
  MutexLock lock(state_mutex_);
  ::close(std::exchange(wake_, -1));
}

ResumableConnection::Attempt ResumableConnection::detach() {
  std::shared_ptr<Connection> carrier;
  Attempt attempt{};
  {
    MutexLock lock(state_mutex_);
    carrier = carrier_;
    attempt.number = ++attempts_;
  }
  if (carrier) broke(carrier);  // so that a reader in it comes back
  MutexLock lock(read_mutex_);
  detached_ = true;
  attempt.received = bytes_received();
  return attempt;
}

ResumableConnection::Fit ResumableConnection::fit(std::uint64_t peer_received) {
  MutexLock lock(write_mutex_);
  return fit_of(peer_received);
}

ResumableConnection::Fit ResumableConnection::fit_of(std::uint64_t peer_received) const {
  if (peer_received > kept_.end()) return Fit::kNeverSent;
  return peer_received < kept_.begin() ? Fit::kOutdated : Fit::kFits;
}

bool ResumableConnection::resume(const Attempt& attempt, std::shared_ptr<Connection> carrier,
                                 std::uint64_t peer_received) {
  {
    MutexLock write_lock(write_mutex_);
    const bool is_possible = fit_of(peer_received) == Fit::kFits;
    MutexLock lock(state_mutex_);
    if (!is_possible || attempt.number != attempts_ || state_ != State::kBroken) return false;
    state_ = State::kCarried;
    carrier_ = std::move(carrier);
    resume_at_ = peer_received;
    generation_.fetch_add(1, std::memory_order_release);
    signal_reader();
  }
  if (!acknowledged(peer_received)) return false;
  carried_on();
  return true;
}

// Sends again what the other side lacks, without keeping writers that must not block from their turn.
void ResumableConnection::carried_on() {
  for (;;) {
    std::shared_ptr<Connection> writer;
    {
      MutexLock lock(write_mutex_);
      if (!adopt_writer() || sent_ == kept_.end()) return;
      const std::ptrdiff_t count = writer_->try_write(kept_.at(sent_));
      if (count < 0) return broke(std::exchange(writer_, nullptr));
      sent_ += static_cast<std::uint64_t>(count);
      if (count > 0) continue;
      writer = writer_;
    }
    writer->await_writable(std::chrono::milliseconds(100));
  }
}

bool ResumableConnection::broken() const {
  MutexLock lock(state_mutex_);
  return state_ == State::kBroken;
}

bool ResumableConnection::ended() const {
  MutexLock lock(state_mutex_);
  return state_ == State::kEnded;
}

std::string ResumableConnection::reason() const {
  MutexLock lock(state_mutex_);
  return reason_;
}

std::chrono::steady_clock::time_point ResumableConnection::broken_since() const {
  MutexLock lock(state_mutex_);
  return broken_since_;
}

void ResumableConnection::end_when_broken() {
  bool is_broken = false;
  {
    MutexLock lock(state_mutex_);
    ends_when_broken_ = true;
    is_broken = state_ == State::kBroken;
  }
  if (is_broken) shutdown();
}

void ResumableConnection::set_window(std::chrono::milliseconds window) {
  MutexLock lock(state_mutex_);
  window_ = window;
}

}  // namespace remotecl
