#include <algorithm>

#include "extras/rdma/rdma_channel.h"

namespace remotecl {
namespace {

// The window of receive(); announced transfers have the others, so that they cannot keep it from its bytes.
constexpr unsigned kOwnSlot = 0;

}  // namespace

using rdma::MessageKind;

// Takes what was written first and returns its buffer to the peer.
RdmaChannel::Arrival RdmaChannel::take_arrival() {
  const Arrival arrival = written_.front();
  written_.pop();
  credits_.note_taken();
  post_receive(arrival.buffer);
  return_credits();
  return arrival;
}

// ---- Windows

MemoryWindow* RdmaChannel::window_of(std::uint64_t transfer) {
  const auto found = std::find_if(windows_.begin(), windows_.end(), [=](const MemoryWindow& window) {
    return window.is_open() && window.transfer() == transfer;
  });
  return found == windows_.end() ? nullptr : &*found;
}

bool RdmaChannel::open_window(unsigned slot, std::uint64_t transfer, const RdmaDestination& to) {
  MemoryWindow& window = windows_[slot];
  if (is_over() || !window.is_free(pair_)) return false;
  if (!window.open(pair_, domain_, transfer, to.bytes, *to.registration)) {
    end("the queue pair takes no memory window");
    return false;
  }
  note_posted();
  const rdma::GrantMessage grant{transfer, reinterpret_cast<std::uint64_t>(to.bytes.data()), to.bytes.size(),
                                 window.key(), slot};
  return post_message(MessageKind::kGrant, rdma::bytes_of(grant));
}

void RdmaChannel::close_window(MemoryWindow& window) {
  if (!window.close(pair_)) end("the queue pair closes no memory window");
  note_posted();
}

bool RdmaChannel::announce(std::uint64_t transfer, const RdmaDestination& to) {
  if (to.registration == nullptr || to.bytes.empty() || !to.registration->contains(to.bytes)) return false;
  const MutexLock lock(mutex_);
  drain();
  for (unsigned slot = kOwnSlot + 1; slot < rdma::kWindows; ++slot) {
    if (!windows_[slot].is_free(pair_)) continue;
    try {
      return open_window(slot, transfer, to);
    } catch (const ConnectionError&) {  // receive() opens smaller windows
      return false;
    }
  }
  return false;
}

void RdmaChannel::withdraw(std::uint64_t transfer) {
  const MutexLock lock(mutex_);
  MemoryWindow* const window = window_of(transfer);
  if (window == nullptr) return;
  close_window(*window);
  WaitPolicy spin;
  while (window->is_closing(pair_) && await_progress(spin, Completions::kAll)) continue;
}

// ---- The bytes of transfers

void RdmaChannel::expect(std::uint64_t transfer, std::size_t size) {
  const MutexLock lock(mutex_);
  receiving_.transfer = transfer;
  receiving_.left = size;
  receiving_.skipped = 0;
  receiving_.landed = {};
}

void RdmaChannel::take_written(const Arrival& arrival) {
  MemoryWindow& window = windows_[arrival.slot];
  const bool is_expected = window.transfer() == receiving_.transfer && arrival.size <= receiving_.left;
  const MutableBytes rest = window.is_open() ? window.rest() : MutableBytes();
  if (!is_expected || arrival.size == 0 || !window.note_written(arrival.size)) {
    end("the peer has written something else than it was asked for");
    return;
  }
  receiving_.landed = rest.first(arrival.size);
  counted_.received.fetch_add(arrival.size, std::memory_order_relaxed);
  if (!window.rest().empty()) return;
  close_window(window);
  receiving_.closing = &window;
}

// Takes what has been written, or makes the peer write more.
void RdmaChannel::take_more(const RdmaDestination& to) {
  Receiving& state = receiving_;
  if (!state.landed.empty() || state.left == 0 || state.skipped != 0) return;
  if (!written_.empty()) return take_written(take_arrival());
  if (is_over() || window_of(state.transfer) != nullptr) return;
  RdmaDestination destination = to;
  if (to.registration == nullptr || !to.registration->contains(to.bytes)) {
    if (state.staging == nullptr) state.staging = std::make_unique<OwnMemory>(domain_, kStagingBytes);
    destination = {state.staging->bytes(), &state.staging->registration()};
  }
  destination.bytes = destination.bytes.first(std::min(destination.bytes.size(), state.left));
  try {
    open_window(kOwnSlot, state.transfer, destination);
  } catch (const std::exception& error) {
    end(error.what());
  }
}

// Takes the bytes that have landed. Bytes in their final place are not copied.
std::size_t RdmaChannel::take_landed(MutableBytes to) {
  Receiving& state = receiving_;
  if (is_closing()) return 0;
  state.closing = nullptr;
  const std::size_t size = std::min(to.size(), state.landed.size());
  if (size != 0 && to.data() != state.landed.data()) {
    std::memmove(to.data(), state.landed.data(), size);
    counted_.copied.fetch_add(size, std::memory_order_relaxed);
  }
  state.landed = state.landed.subspan(size);
  state.left -= size;
  return size;
}

bool RdmaChannel::receive(const RdmaDestination& to) {
  const MutexLock lock(mutex_);
  drain();
  for (RdmaDestination left = to; !left.bytes.empty();) {
    take_more(left);
    const std::size_t count = take_landed(left.bytes);
    left.bytes = left.bytes.subspan(count);
    if (count != 0) continue;
    if (receiving_.left == 0 || (!await_progress(receiving_.spin, what_brings_bytes()) && has_received_all()))
      return false;
  }
  return true;
}

// Waits, after the end, for whatever has arrived, because the sender does not repeat what its device has completed.
// What this device has not yet completed is among the buffers that it gives back.
bool RdmaChannel::has_received_all() {
  if (std::exchange(receiving_.is_flushed, true)) return true;
  await_flush(0, 0);
  return false;
}

bool RdmaChannel::has_something_to_receive() {
  const MutexLock lock(mutex_);
  drain();
  return !written_.empty() || !receiving_.landed.empty() || pair_.receives() != 0;
}

bool RdmaChannel::has_arrived() {
  const MutexLock lock(mutex_);
  const bool is_polled = drain_awake();
  const bool has_bytes = is_over() || !written_.empty() || (!receiving_.landed.empty() && !is_closing());
  waiters_.set_polled(is_polled && !has_bytes);
  return has_bytes;
}

std::ptrdiff_t RdmaChannel::try_receive(const RdmaDestination& to) {
  const MutexLock lock(mutex_);
  drain_awake();
  for (;;) {
    take_more(to);
    const std::size_t count = take_landed(to.bytes);
    if (count != 0) return static_cast<std::ptrdiff_t>(count);
    if (is_over() && has_received_all()) return 0;
    if (!is_over() && prepare_to_poll()) return -1;
  }
}

std::ptrdiff_t RdmaChannel::try_discard(std::size_t size) {
  const MutexLock lock(mutex_);
  drain_awake();
  for (;;) {
    if (const std::size_t count = skip(size)) return static_cast<std::ptrdiff_t>(count);
    if (is_over() && has_received_all()) return 0;
    if (!is_over() && prepare_to_poll()) return -1;
  }
}

// Drops bytes that have arrived, and tells the peer not to send those that it has no destination for.
std::size_t RdmaChannel::skip(std::size_t size) {
  Receiving& state = receiving_;
  const bool is_asked_for = window_of(state.transfer) != nullptr;
  if (state.skipped == 0 && state.landed.empty() && !is_asked_for && !is_over()) {
    const rdma::SkipMessage message{state.transfer, state.left};
    if (post_message(MessageKind::kSkip, rdma::bytes_of(message))) state.skipped = state.left;
  }
  if (state.skipped != 0) {
    const std::size_t count = std::min(size, state.skipped);
    state.skipped -= count;
    state.left -= count;
    return count;
  }
  take_more({});
  return take_landed(state.landed.first(std::min(size, state.landed.size())));
}

}  // namespace remotecl
