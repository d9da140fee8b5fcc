#include "extras/rdma/rdma_channel.h"

#include <algorithm>

namespace remotecl {
namespace {

constexpr std::chrono::milliseconds kProbeTime{1000};

}  // namespace

using rdma::MessageKind;

RdmaChannel::RdmaChannel(std::shared_ptr<CmId> id)
    : domain_(std::make_shared<const ProtectionDomain>(std::move(id))),
      buffers_(domain_, (QueuePair::kReceives + QueuePair::kSends) * rdma::kBufferBytes),
      pair_(domain_),
      waiters_(pair_.handle(), domain_->id()->handle()),
      poll_handle_(waiters_.handle()) {
  const MutexLock lock(mutex_);
  for (unsigned buffer = 0; buffer < QueuePair::kReceives; ++buffer) post_receive(buffer);
}

RdmaChannel::~RdmaChannel() { shutdown(); }

std::unique_ptr<RegisteredMemory> RdmaChannel::register_memory(MutableBytes memory) const {
  return std::make_unique<RegisteredMemory>(domain_, memory);
}

void RdmaChannel::shutdown() {
  const MutexLock lock(mutex_);
  end("it was closed here");
}

std::string RdmaChannel::reason() {
  const MutexLock lock(mutex_);
  return reason_;
}

bool RdmaChannel::look_after() {
  const MutexLock lock(mutex_);
  drain();
  if (waiters_.events() <= looked_at_) {
    handle_cm_events();
    const std::uint64_t before = pair_.posted();
    probe();
    looked_at_ += pair_.posted() - before;  // the probe's completion tells nothing of the peer's use
  } else {
    looked_at_ = waiters_.events();
  }
  return !is_over();
}

void RdmaChannel::end(std::string reason) {
  if (is_over()) return;
  reason_ = std::move(reason);
  pair_.fail();
  domain_->library().cm.disconnect(domain_->id()->get());  // does not wait for the peer
  for (MemoryWindow& window : windows_) window.abandon();
  waiters_.note_events(1);
  wake_others();
}

MutableBytes RdmaChannel::receive_buffer(unsigned buffer) const {
  return buffers_.bytes().subspan(buffer * rdma::kBufferBytes, rdma::kBufferBytes);
}

// Not after the end: Soft-RoCE would not give the buffer back, which await_flush() waits for.
bool RdmaChannel::post_receive(unsigned buffer) {
  if (is_over()) return false;
  if (pair_.receive(buffer, receive_buffer(buffer), buffers_.registration())) return true;
  end("the queue pair takes no buffer");
  return false;
}

// ---- Completions

void RdmaChannel::drain() {
  const std::uint64_t before = waiters_.events();
  std::array<ibv_wc, 16> completions;
  std::size_t count = 0;
  do {
    count = pair_.poll(completions);
    for (std::size_t i = 0; i < count; ++i) handle(completions[i]);
    waiters_.note_events(count);
  } while (count == completions.size());
  if (waiters_.events() == before) return;
  return_credits();
  wake_others();
}

void RdmaChannel::handle(const ibv_wc& completion) {
  if (QueuePair::is_send(completion)) {
    pair_.note_completed(completion);
    const std::uint64_t position = sending_.positions[pair_.completed() % QueuePair::kSends];
    if (completion.status == IBV_WC_SUCCESS) counted_.delivered.store(position, std::memory_order_release);
    counted_.completed.store(position, std::memory_order_release);
  } else {
    pair_.note_received();
  }
  if (completion.status != IBV_WC_SUCCESS) {
    end(std::string("the queue pair has failed: ") + domain_->library().verbs.wc_status_str(completion.status));
    return;
  }
  if (QueuePair::is_send(completion)) return;
  const auto buffer = static_cast<unsigned>(completion.wr_id);
  if (completion.opcode == IBV_WC_RECV) {
    handle_message(buffer, completion.byte_len);
    return;
  }
  const std::uint32_t slot = be32toh(completion.imm_data);
  if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM || slot >= rdma::kWindows || written_.full()) {
    end("the peer has written where there is no window");
    return;
  }
  written_.push({buffer, slot, completion.byte_len});
}

void RdmaChannel::handle_message(unsigned buffer, std::size_t size) {
  const Bytes message = Bytes(receive_buffer(buffer)).first(std::min(size, rdma::kBufferBytes));
  rdma::MessageHeader header;
  if (!rdma::decode(message.first(std::min(message.size(), sizeof(header))), header) ||
      header.size != message.size() - sizeof(header) || !credits_.set_limit(header.limit)) {
    end("the peer has sent a message that makes no sense");
    return;
  }
  const Bytes payload = message.subspan(sizeof(header));
  bool is_good = true;
  switch (header.kind) {
    case MessageKind::kGrant:
      is_good = accept_grant(payload);
      break;
    case MessageKind::kSkip:
      is_good = rdma::decode(payload, sending_.skip);
      break;
    case MessageKind::kCredit:
      is_good = payload.empty();
      break;
    default:
      is_good = false;
  }
  if (is_good) {
    post_receive(buffer);
  } else {
    end("the peer has sent a message that makes no sense");
  }
}

bool RdmaChannel::accept_grant(Bytes payload) {
  rdma::GrantMessage grant;
  if (!rdma::decode(payload, grant) || grant.slot >= rdma::kWindows || grant.size == 0) return false;
  sending_.grants[grant.slot] = {grant.transfer, grant.address, grant.size, grant.key};
  return true;
}

void RdmaChannel::handle_cm_events() {
  domain_->note_system_call();
  while (const std::optional<CmEvent> event = domain_->id()->next_event()) {
    switch (event->type) {
      case RDMA_CM_EVENT_ESTABLISHED:
      case RDMA_CM_EVENT_ADDR_CHANGE:
      case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        break;
      case RDMA_CM_EVENT_DISCONNECTED:
        end("the other side has closed it");
        break;
      default:
        end(domain_->library().cm.event_str(event->type));
    }
  }
}

// ---- Waiting

// Returns true when something has happened that the caller may be waiting for; false if that cannot come any more.
bool RdmaChannel::await_progress(WaitPolicy& spin, Completions kind) {
  if (is_over()) return false;
  const std::uint64_t seen = waiters_.events();
  mutex_.unlock();
  const auto has_progressed = [this, seen] {
    const MutexLock lock(mutex_);
    drain();
    return waiters_.events() != seen;
  };
  spin.until(has_progressed) || WaitPolicy::poll_until(has_progressed);
  mutex_.lock();
  while (waiters_.events() == seen) sleep(kind);
  return true;
}

// One thread sleeps on the descriptors, on behalf of all.
void RdmaChannel::sleep(Completions kind) {
  const std::uint64_t seen = waiters_.events();
  pair_.take_event();
  // A thread that polls wait_handle() may wait for more than this one.
  pair_.arm(waiters_.is_polled() ? std::max(kind, what_brings_bytes()) : kind);
  drain();
  if (waiters_.events() != seen) return;
  if (waiters_.has_sleeper()) return waiters_.wait(mutex_);
  domain_->note_system_call();
  const ChannelWaiters::Readable readable = waiters_.sleep(mutex_, kProbeTime);
  if (readable.is_quiet) probe();
  if (readable.connection) handle_cm_events();
  if (readable.completions) pair_.take_event(true);
  if (waiters_.is_polled()) pair_.arm(what_brings_bytes());
  drain();
  // If this thread does not sleep again, another one must.
  waiters_.wake_all();
}

void RdmaChannel::wake_others() {
  waiters_.wake_sleeper();
  const bool has_something = !written_.empty() || !receiving_.landed.empty();
  if (!waiters_.is_polled() || !(is_over() || has_something)) return;
  waiters_.set_polled(false);
  set_ready();
}

// Drains for the thread that polls the handle. That thread is awake, so it needs no wake-up for what it sees here.
// Returns whether the handle was polled.
bool RdmaChannel::drain_awake() {
  const bool is_polled = waiters_.is_polled();
  waiters_.set_polled(false);
  drain();
  return is_polled;
}

void RdmaChannel::set_ready() {
  if (waiters_.set_ready()) domain_->note_system_call();
}

// Sends something to a peer that may have vanished: only what is sent and not acknowledged makes the device notice.
void RdmaChannel::probe() {
  if (is_over() || pair_.posted() != pair_.completed() || !pair_.has_room(QueuePair::kKeptForWindows)) return;
  post_message(MessageKind::kCredit, {});
}

// Returns false if something has happened meanwhile. If completions do not explain why polls have ended, asks the
// connection manager and looks for an event.
bool RdmaChannel::prepare_to_poll() {
  const std::uint64_t seen = waiters_.events();
  const bool is_unexplained = waiters_.is_poll_unexplained();
  if (is_unexplained) handle_cm_events();
  pair_.take_event(is_unexplained);
  pair_.arm(what_brings_bytes());
  drain();
  if (waiters_.events() != seen) return false;
  if (waiters_.begin_polling()) domain_->note_system_call();
  return true;
}

}  // namespace remotecl
