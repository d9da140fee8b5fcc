// How a session reads: the reader's role, and what each report does.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>

#include "runtime/base/printable.h"
#include "runtime/client/session/peer_links.h"
#include "runtime/client/session/session.h"
#include "runtime/client/session/trace_sink.h"
#include "runtime/transport/threads/busy_poll.h"

namespace remotecl {
namespace {

// How long the background thread leaves the connection to the threads that wait, after one of them has waited.
constexpr std::chrono::milliseconds kBackgroundPause{20};
// How long a server may take to tell why it has ended a session.
constexpr std::chrono::seconds kReasonTime{1};

thread_local const Session* this_thread_reads = nullptr;

// For poll().
int milliseconds_until(const OptionalDeadline& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

std::string end_of(bool has_vanished, const std::string& name, const Reconnector* reconnector) {
  const std::string reason = reconnector != nullptr ? reconnector->reason() : "";
  if (!reason.empty()) return reason;
  if (has_vanished) return "it does not answer any more; its machine or the network to it is down";
  return "the server closed the " + name;
}

}  // namespace

bool Session::wait(const std::function<bool()>& done, const OptionalDeadline& deadline) {
  flush();
  Submitter::instance().submit_all();
  MutexLock lock(inbox_mutex_);
  ++waiters_;
  ++waits_;
  const auto is_late = [&deadline] { return deadline && std::chrono::steady_clock::now() >= *deadline; };
  while (!done() && !lost() && !is_late()) {
    if (reading_) {
      if (background_reads_) stop_polling();
      deadline ? void(inbox_changed_.wait_until(inbox_mutex_, *deadline)) : inbox_changed_.wait(inbox_mutex_);
      continue;
    }
    reading_ = true;
    lock.unlock();
    pump(Pump::kBusy, deadline);
    lock.lock();
    reading_ = false;
    if (waiters_ > 1) inbox_changed_.notify_all();
  }
  const bool ok = done();
  --waiters_;
  if (waiters_ > 0) {
    inbox_changed_.notify_one();
  } else if (interest_.load() > 0) {
    background_wanted_.notify_one();
  }
  return ok;
}

void Session::wake() {
  const MutexLock lock(inbox_mutex_);
  if (waiters_ == 0) return;
  inbox_changed_.notify_all();
  if (reading_) stop_polling();
}

void Session::stop_polling() {
  const std::uint64_t one = 1;
  const MutexLock lock(wake_mutex_);
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void Session::poll() {
  flush();
  {
    const MutexLock lock(inbox_mutex_);
    if (reading_ || lost()) return;  // whoever reads takes everything in
    reading_ = true;
  }
  pump(Pump::kTake);
  const MutexLock lock(inbox_mutex_);
  reading_ = false;
  if (waiters_ > 0) inbox_changed_.notify_all();
}

void Session::add_interest() {
  if (interest_.fetch_add(1) != 0) return;
  const MutexLock lock(inbox_mutex_);
  if (waiters_ == 0) background_wanted_.notify_one();
}

void Session::drop_interest() { interest_.fetch_sub(1); }

void Session::background() {
  MutexLock lock(inbox_mutex_);
  while (!lost()) {
    if (waiters_ > 0 || reading_) {
      const std::uint64_t seen = waits_;
      background_wanted_.wait_for(inbox_mutex_, kBackgroundPause);
      if (waits_ != seen && interest_.load() == 0) continue;
      if (waiters_ > 0 || reading_) continue;
    }
    const std::uint64_t seen = waits_;
    reading_ = background_reads_ = true;
    lock.unlock();
    pump(Pump::kSleep);
    lock.lock();
    reading_ = background_reads_ = false;
    if (waiters_ > 0) inbox_changed_.notify_all();
    // A program that blocks again and again reads by itself: stay away as long as it does.
    std::uint64_t last = seen;
    while (!lost() && waits_ != last && interest_.load() == 0) {
      last = waits_;
      background_wanted_.wait_for(inbox_mutex_, kBackgroundPause);
    }
  }
  while (reading_) background_wanted_.wait_for(inbox_mutex_, kBackgroundPause);
  reading_ = true;  // for good
  lock.unlock();
  release();
}

void Session::pump(Pump how, const OptionalDeadline& deadline) {
  std::array<pollfd, 2 + kBulkChannelsMax> waits;
  std::array<BulkChannel*, kBulkChannelsMax> entered;
  waits[0] = {control_->wait_handle(), POLLIN, 0};
  const int wake = wake_handle();
  waits[1] = {wake, POLLIN, 0};
  nfds_t count = 2;
  for (const auto& channel : channels_) {
    if (!channel->enter()) continue;
    entered[count - 2] = channel.get();
    waits[count++] = {channel->transport().wait_handle(), POLLIN, 0};
  }
  const auto look = [&](int timeout) { return ::poll(waits.data(), count, timeout) > 0; };
  const bool is_there = how == Pump::kBusy && busy_poll([&look] { return look(0); });
  if (is_there || look(how == Pump::kTake ? 0 : milliseconds_until(deadline))) {
    if (waits[1].revents != 0) {
      std::uint64_t rings = 0;
      [[maybe_unused]] const auto taken = ::read(wake, &rings, sizeof rings);
    }
    const Session* const former = std::exchange(this_thread_reads, this);
    if (waits[0].revents != 0 && !read_control()) lose(end_of(control_->vanished(), "connection", reconnector_.get()));
    for (nfds_t i = 2; i < count; ++i) {
      if (waits[i].revents != 0 && !entered[i - 2]->read()) lose_bulk(*entered[i - 2]);
    }
    this_thread_reads = former;
  }
  for (nfds_t i = 2; i < count; ++i) entered[i - 2]->leave();
}

bool Session::read_apart(BulkChannel& channel) {
  const Session* const former = std::exchange(this_thread_reads, this);
  const bool goes_on = channel.read();
  this_thread_reads = former;
  return goes_on;
}

// Memory that both sides share ends with the process at the other end. The control connection can learn why that has
// ended, where somebody is left to tell.
void Session::lose_bulk(const BulkChannel& channel) {
  const auto end = std::chrono::steady_clock::now() + kReasonTime;
  while (streams_.control() != nullptr && !lost() && !reconnector_->found_nobody()) {
    if (std::chrono::steady_clock::now() >= end) break;
    pollfd wait{control_->wait_handle(), POLLIN, 0};
    if (::poll(&wait, 1, 10) > 0 && !read_control()) break;
  }
  lose(end_of(channel.transport().vanished(), "bulk connection", reconnector_.get()));
}

bool Session::is_reading() const { return this_thread_reads == this; }

bool Session::read_control() {
  const MutableBytes space = inbox_.space();
  const std::ptrdiff_t count = control_->try_read_some(space);
  if (count <= 0) return count < 0;
  inbox_.commit(static_cast<std::size_t>(count));
  std::uint16_t code = 0;
  Bytes payload;
  for (;;) {
    const auto next = inbox_.next(code, payload);
    if (next == MessageBuffer::Next::kNeedMore) return true;
    if (next == MessageBuffer::Next::kBroken) return false;
    messages_received_.fetch_add(1, std::memory_order_relaxed);
    handle(code, payload);
  }
}

void Session::handle(std::uint16_t code, Bytes payload) {
  Decoder decoder(payload);
  const auto with = [&]<class Report>(Report report, auto&& then) {
    if (decoder.read(report)) {
      then(report);
    } else {
      lose("the server sent a malformed " + std::string(message_name(code)));
    }
  };
  switch (code) {
    case Code::kFinished:
      return with(Finished{}, [&](const Finished& report) { deliver_reply(report.token, code, payload); });
    case Code::kPong:
      return with(Pong{}, [&](const Pong& report) { deliver_reply(report.token, code, payload); });
    case Code::kStatus:
      return with(Status{}, [&](const Status& report) { deliver_reply(report.token, code, payload); });
    case Code::kSubDevices:
      return with(SubDevices{}, [&](const SubDevices& report) { deliver_reply(report.token, code, payload); });
    case Code::kClock:
      return with(Clock{}, [&](const Clock& report) { deliver_reply(report.token, code, payload); });
    case Code::kBuildDone:
      return with(BuildDone{}, [&](const BuildDone& report) { deliver_reply(report.token, code, payload); });
    case Code::kCommandBufferState:
      return with(CommandBufferState{},
                  [&](const CommandBufferState& report) { deliver_reply(report.token, code, payload); });
    case Code::kProgramBinary:
      return with(ProgramBinary{}, [&](const ProgramBinary& report) { deliver_reply(report.token, code, payload); });
    case Code::kNativeAnswer:
      return with(NativeAnswer{}, [&](const NativeAnswer& report) { deliver_reply(report.token, code, payload); });
    case Code::kSvmAllocated:
      return with(SvmAllocated{}, [&](const SvmAllocated& report) { deliver_reply(report.token, code, payload); });
    case Code::kImageFormats:
      return with(ImageFormats{}, [&](const ImageFormats& report) { deliver_reply(report.token, code, payload); });
    case Code::kEventDone:
      return with(EventDone{}, [&](const EventDone& report) { handle_event_done(report); });
    case Code::kCommandFailed:
      return with(CommandFailed{}, [&](const CommandFailed& report) { handle_command_failed(report); });
    case Code::kCommandTraced:
      return with(CommandTraced{}, [&](const CommandTraced& report) {
        if (TraceSink* const trace = TraceSink::current()) trace->report(*this, report);
      });
    case Code::kReadData:
      return with(ReadData{}, [&](const ReadData& report) { handle_read_data(report); });
    case Code::kTransferSize:
      return with(TransferSize{}, [&](const TransferSize& report) { handle_transfer_size(report); });
    case Code::kPullTransfer:
      return with(PullTransfer{}, [&](const PullTransfer& report) { handle_pull(report.transfer); });
    case Code::kPushesTaken:
      return with(PushesTaken{}, [&](const PushesTaken& report) {
        BulkChannel* const channel = this->channel(report.channel);
        if (channel == nullptr || !channel->pushes_taken(report.bytes))
          lose("the server has taken more than was sent to it");
      });
    case Code::kServerReceived:
      return with(ServerReceived{}, [&](const ServerReceived& report) { handle_received(report); });
    case Code::kPeerState:
      return with(PeerState{}, [&](const PeerState& report) { PeerLinks::instance().report(*this, report); });
    case Code::kSignalUndelivered:
      return with(SignalUndelivered{},
                  [&](const SignalUndelivered& report) { PeerLinks::instance().undelivered(*this, report); });
    case Code::kKernelOutput:
      return with(KernelOutput{}, [&](const KernelOutput& report) { kernel_text_.write(report.text); });
    case Code::kSessionError:
      return with(SessionError{},
                  [&](const SessionError& report) { lose("the server said: " + printable(report.text)); });
    default:
      lose("the server sent an unknown message (" + std::to_string(code) + ")");
  }
}

void Session::handle_event_done(const EventDone& report) {
  if (const auto event = find_event(report.event)) {
    event->complete(report.status, report.has_profile != 0 ? &report.profile : nullptr);
  }
}

void Session::handle_command_failed(const CommandFailed& report) {
  if (const auto event = find_event(report.event)) {
    event->complete(report.status, nullptr);
  } else if (const auto queue = find_queue(report.queue)) {
    queue->command_failed(report.status);  // nobody has an event that would tell
  }
  if (report.transfer != 0) fail_transfer(report.transfer, report.status < 0 ? report.status : CL_OUT_OF_RESOURCES);
}

void Session::handle_pull(TransferId id) {
  const TransferRef transfer = find_transfer(id, true);
  if (!transfer || transfer->state.load() != Transfer::State::kPending) return;
  transfer->state.store(Transfer::State::kPulled, std::memory_order_release);
  if (!transfer->sender_waits) transfer->channel->post(transfer);  // else wait() returns in that thread, which sends
}

void Session::handle_transfer_size(const TransferSize& report) {
  const TransferRef transfer = find_transfer(report.transfer, false);
  if (!transfer) return;
  bool fits = false;
  {
    const MutexLock lock(transfer->mutex);
    fits = transfer->may_be_short && report.size <= transfer->size && report.size >= transfer->announced;
    if (fits) transfer->size = report.size;
  }
  if (!fits) return lose("the server sent a read of the wrong size");
  if (transfer->moved == transfer->size) end_transfer(transfer, CL_COMPLETE);
}

void Session::handle_read_data(const ReadData& report) {
  const TransferRef transfer = find_transfer(report.transfer, false);
  if (!transfer) return;
  bool fits = false;
  {
    const MutexLock lock(transfer->mutex);
    const bool has_chunk = transfer->announced != transfer->moved;
    fits = !has_chunk &&
           (report.data.size() == transfer->size || (transfer->may_be_short && report.data.size() < transfer->size));
    if (fits && !transfer->is_over) std::memcpy(transfer->memory, report.data.data(), report.data.size());
  }
  if (!fits) return lose("the server sent a read of the wrong size");
  end_transfer(transfer, CL_COMPLETE);
}

}  // namespace remotecl
