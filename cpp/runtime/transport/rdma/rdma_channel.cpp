#include "runtime/transport/rdma/rdma_channel.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace remotecl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kProbeTime{1000};

std::chrono::milliseconds time_left(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

int make_poll_handle(std::initializer_list<int> watched) {
  const int handle = ::epoll_create1(EPOLL_CLOEXEC);
  if (handle < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  for (const int descriptor : watched) {
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(handle, EPOLL_CTL_ADD, descriptor, &event);
  }
  return handle;
}

}  // namespace

using rdma::MessageKind;

RdmaChannel::RdmaChannel(std::shared_ptr<CmId> id)
    : domain_(std::make_shared<const ProtectionDomain>(std::move(id))),
      buffers_(domain_, (QueuePair::kReceives + QueuePair::kSends) * rdma::kBufferBytes),
      pair_(domain_),
      completions_handle_(pair_.handle()),
      poll_handle_(make_poll_handle({completions_handle_, domain_->id()->handle(), ready_.handle()})) {
  const MutexLock lock(mutex_);
  for (unsigned buffer = 0; buffer < QueuePair::kReceives; ++buffer) post_receive(buffer);
}

RdmaChannel::~RdmaChannel() {
  shutdown();
  ::close(poll_handle_);
}

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

bool RdmaChannel::vanished() {
  const MutexLock lock(mutex_);
  return has_vanished_;
}

bool RdmaChannel::has_ended() {
  const MutexLock lock(mutex_);
  handle_cm_events();
  return is_over();
}

void RdmaChannel::end(std::string reason) {
  if (is_over()) return;
  reason_ = std::move(reason);
  pair_.fail();
  domain_->library().cm.disconnect(domain_->id()->get());  // does not wait for the peer
  for (MemoryWindow& window : windows_) window.abandon();
  ++events_;
  wake_others();
}

MutableBytes RdmaChannel::receive_buffer(unsigned buffer) const {
  return buffers_.bytes().subspan(buffer * rdma::kBufferBytes, rdma::kBufferBytes);
}

bool RdmaChannel::post_receive(unsigned buffer) {
  if (pair_.receive(buffer, receive_buffer(buffer), buffers_.registration())) return true;
  end("the queue pair takes no buffer");
  return false;
}

// ---- Completions

void RdmaChannel::drain() {
  const std::uint64_t before = events_;
  std::array<ibv_wc, 16> completions;
  std::size_t count = 0;
  do {
    count = pair_.poll(completions);
    for (std::size_t i = 0; i < count; ++i) handle(completions[i]);
    events_ += count;
  } while (count == completions.size());
  if (events_ == before) return;
  return_credits();
  wake_others();
}

void RdmaChannel::handle(const ibv_wc& completion) {
  if (QueuePair::is_send(completion)) {
    pair_.note_completed(completion);
    const std::uint64_t position = sending_.positions[pair_.completed() % QueuePair::kSends];
    if (completion.status == IBV_WC_SUCCESS) bytes_delivered_.store(position, std::memory_order_release);
    bytes_completed_.store(position, std::memory_order_release);
  } else {
    pair_.note_received();
  }
  if (completion.status != IBV_WC_SUCCESS) {
    has_vanished_ = has_vanished_ || completion.status == IBV_WC_RETRY_EXC_ERR;
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
    case MessageKind::kUser:
      is_good = !stream_.arrived.full() && !payload.empty();
      if (!is_good) break;
      stream_.arrived.push({buffer, 0, static_cast<std::uint32_t>(payload.size())});
      return;
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

// Returns true when something has happened that the caller may be waiting for; false if that cannot come any
// more, or when the time is over.
bool RdmaChannel::await_progress(WaitPolicy& spin, Time until) {
  if (is_over()) return false;
  const std::uint64_t seen = events_;
  mutex_.unlock();
  const auto has_progressed = [this, seen] {
    const MutexLock lock(mutex_);
    drain();
    return events_ != seen;
  };
  spin.until(has_progressed) || WaitPolicy::poll_until(has_progressed);
  mutex_.lock();
  while (events_ == seen) {
    if (until != Time::max() && Clock::now() >= until) return false;
    if (!is_sleeping_) {
      sleep(until);
    } else if (until == Time::max()) {
      changed_.wait(mutex_);
    } else {
      changed_.wait_until(mutex_, until);
    }
  }
  return true;
}

// Sleeps on the descriptors, on behalf of all waiting threads.
void RdmaChannel::sleep(Time until) {
  const std::uint64_t seen = events_;
  pair_.take_event();
  pair_.arm();
  drain();
  if (events_ != seen) return;
  is_sleeping_ = true;
  mutex_.unlock();
  std::array<pollfd, 3> waiting = {
      {{completions_handle_, POLLIN, 0}, {domain_->id()->handle(), POLLIN, 0}, {kick_.handle(), POLLIN, 0}}};
  const auto time = until == Time::max() ? kProbeTime : std::min(kProbeTime, time_left(until));
  domain_->note_system_call();
  const bool is_quiet = ::poll(waiting.data(), waiting.size(), static_cast<int>(time.count())) == 0;
  mutex_.lock();
  is_sleeping_ = false;
  if (is_quiet) probe();
  if (waiting[2].revents != 0) kick_.clear();
  if (waiting[1].revents != 0) handle_cm_events();
  if (waiting[0].revents != 0) pair_.take_event();
  // A thread that polls wait_handle() also waits for the next completion.
  if (is_polled_) pair_.arm();
  drain();
  // If this thread does not sleep again, another one must.
  changed_.notify_all();
}

void RdmaChannel::wake_others() {
  if (is_sleeping_) {
    kick_.set();
    changed_.notify_all();
  }
  const bool has_something = !written_.empty() || !receiving_.landed.empty() || !stream_.arrived.empty();
  if (is_polled_ && (is_over() || has_something)) {
    is_polled_ = false;
    set_ready();
  }
}

void RdmaChannel::set_ready() {
  if (std::exchange(is_ready_, true)) return;
  domain_->note_system_call();
  ready_.set();
}

// Sends something to a peer that may have vanished: only what is sent and not acknowledged makes the device notice.
void RdmaChannel::probe() {
  if (is_over() || pair_.posted() != pair_.completed() || !pair_.has_room(QueuePair::kKeptForWindows)) return;
  post_message(MessageKind::kCredit, {});
}

void RdmaChannel::probe_if_quiet() {
  const MutexLock lock(mutex_);
  drain();
  probe();
}

// Returns false if something has happened meanwhile. The connection manager is asked only where completions do not
// explain why the poll has ended.
bool RdmaChannel::prepare_to_poll() {
  const std::uint64_t seen = events_;
  if (polled_at_ == seen) handle_cm_events();
  pair_.take_event();
  pair_.arm();
  drain();
  if (events_ != seen) return false;
  if (std::exchange(is_ready_, false)) {
    domain_->note_system_call();
    ready_.clear();
  }
  polled_at_ = events_;
  is_polled_ = true;
  return true;
}

}  // namespace remotecl
