#include "runtime/transport/stream/resumable_connection.h"

#include <utility>

#include "runtime/protocol/sizes.h"

namespace remotecl {

ResumableConnection::ResumableConnection(std::shared_ptr<Connection> carrier, std::chrono::milliseconds window,
                                         Hooks hooks)
    : hooks_(std::move(hooks)),
      handover_(std::move(carrier), window, [this](State state) { lost(state); }),
      writer_(handover_, bytes_sent_) {}

void ResumableConnection::lost(State state) {
  writer_.wake();
  if (state == State::kBroken && hooks_.broken) hooks_.broken();
}

bool ResumableConnection::adopt_reader() const {
  if (reader_generation_ != handover_.generation()) {
    CarrierHandover::Carrier next = handover_.take_for_reader();
    reader_generation_ = next.generation;
    reader_ = std::move(next.connection);
    detached_ = false;
  }
  if (detached_) reader_ = nullptr;
  return reader_ != nullptr;
}

// Like try_read_some() of a connection; also returns -1 if there is none.
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
    if (count > 0 && bytes_received() - acknowledged_ < kAcknowledgeEvery) return count;
    if (count > 0) acknowledged_ = bytes_received();
    to = to.first(static_cast<std::size_t>(count));
  }
  if (gone) {
    handover_.broke(gone);
    return -1;
  }
  hooks_.acknowledge(acknowledged_);
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

// Waits, on the reading thread, for a connection that it has not taken yet. Returns false at the end.
bool ResumableConnection::await_carrier() {
  std::uint64_t taken = 0;
  {
    MutexLock lock(read_mutex_);
    taken = reader_generation_;
    if (reader_ != nullptr && !detached_) return true;
  }
  for (;;) {
    const State state = handover_.await_after(taken, kHopelessEvery);
    if (state != State::kBroken) return state == State::kCarried;
    end_if_due();
  }
}

void ResumableConnection::end_if_due() {
  if (handover_.is_overdue()) {
    end("its connection was lost, and no other one took its place in time");
  } else if (broken() && hooks_.hopeless && hooks_.hopeless()) {
    end("its connection was lost, and the process at the other end has ended");
  }
}

void ResumableConnection::report_received() {
  if (bytes_received() == acknowledged_) return;
  acknowledged_ = bytes_received();
  hooks_.acknowledge(acknowledged_);
}

int ResumableConnection::wait_handle() const {
  MutexLock lock(read_mutex_);
  return adopt_reader() ? reader_->wait_handle() : handover_.wake_handle();
}

std::shared_ptr<Connection> ResumableConnection::reader() const {
  MutexLock lock(read_mutex_);
  return reader_;
}

std::size_t ResumableConnection::streams() const {
  const std::shared_ptr<Connection> carrier = handover_.carrier();
  return carrier != nullptr ? carrier->streams() : 1;
}

void ResumableConnection::set_read_timeout(std::chrono::milliseconds timeout) {
  if (const std::shared_ptr<Connection> carrier = handover_.carrier()) carrier->set_read_timeout(timeout);
}

void ResumableConnection::release() {
  std::shared_ptr<Connection> reader;
  {
    MutexLock lock(read_mutex_);
    reader.swap(reader_);
    detached_ = true;
  }
  writer_.release();
  handover_.release();
}

ResumableConnection::Attempt ResumableConnection::detach() {
  const CarrierHandover::Attempt attempt = handover_.begin_attempt();
  MutexLock lock(read_mutex_);
  // A later attempt may have succeeded meanwhile, and its carrier is the reader's.
  if (reader_generation_ <= attempt.generation) detached_ = true;
  return {attempt.number, bytes_received()};
}

void ResumableConnection::end_when_broken() {
  if (handover_.end_when_broken()) shutdown();
}

}  // namespace remotecl
