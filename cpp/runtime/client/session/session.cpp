#include "runtime/client/session/session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "runtime/client/session/peer_links.h"
#include "runtime/client/session/trace_sink.h"
#include "runtime/client/support/fork_guard.h"
#include "runtime/client/support/ids.h"
#include "runtime/client/support/stderr_notice.h"
#include "runtime/handshake/dialer.h"
#include "runtime/handshake/handshake.h"
#include "runtime/handshake/stripes.h"
#include "runtime/transport/tcp/tcp.h"

namespace remotecl {
Session::Session(const ServerName& server, std::uint32_t index)
    : address_(server.address),
      index_(index),
      window_(reconnect_window()),
      dialer_(server),
      is_exclusive_(server.is_exclusive),
      bulk_streams_max_(server.streams != 0 ? server.streams : remotecl::bulk_streams()) {
  connect();
  receive_device_list();
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  given_up_in_forks_.push_back(wake_);
  for (const int descriptor : given_up_in_forks_) give_up_in_child(descriptor);
  background_thread_ = std::thread([this] { background(); });
  Submitter::instance().add(writer_);
  introduce();
  Operations::instance().add(*this);
}

Session::~Session() {
  Operations::instance().remove(*this);
  stopping_ = true;
  lose("the session was closed");
  background_thread_.join();
}

void Session::receive_device_list() {
  const Deadline deadline = Patience::of_server(window_);
  control_->set_read_timeout(std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()));
  for (;;) {
    std::uint16_t code = 0;
    Bytes payload;
    const auto next = inbox_.next(code, payload);
    if (next == MessageBuffer::Next::kMessage) {
      if (code != Code::kDeviceList) break;
      device_list_.assign(payload.begin(), payload.end());
      control_->set_read_timeout(std::chrono::milliseconds(0));
      return;
    }
    if (next == MessageBuffer::Next::kBroken) break;
    const MutableBytes space = inbox_.space();
    const std::size_t count = control_->read_some(space);
    if (count == 0) break;
    inbox_.commit(count);
  }
  const bool is_late = std::chrono::steady_clock::now() >= deadline;
  throw ConnectionError(
      address_.text() + " accepted the connection but did not list its devices; " +
      (is_late ? "it is stopped, or very busy: look after its machine, and try again" : "see its log"));
}

std::string Session::lost_reason() const {
  const MutexLock lock(lost_mutex_);
  return lost_reason_;
}

Traffic Session::traffic() const {
  const MutexLock lock(lost_mutex_);
  if (is_released_) return last_traffic_;
  return traffic_so_far();
}

Traffic Session::traffic_so_far() const {
  Traffic traffic{control_->bytes_sent(), writer_->messages(), control_->bytes_received(), messages_received_.load()};
  for (const auto& channel : channels_) {
    const BulkTransport& bulk = channel->transport();
    traffic += {0, 0, 0, 0, bulk.bytes_sent(), channel->sent(), bulk.bytes_received(), channel->received()};
  }
  return traffic;
}

unsigned Session::bulk_streams() const {
  unsigned streams = 0;
  for (const auto& channel : channels_) streams += channel->streams();
  return streams;
}

void Session::list_transfers(std::vector<Operation>& list) const {
  const MutexLock lock(tables_mutex_);
  for (const auto& [id, transfer] : transfers_) {
    const std::uint64_t size = transfer->size.load(std::memory_order_relaxed);
    const std::uint64_t moved = transfer->moved.load(std::memory_order_relaxed);
    const bool begun = moved != 0 || transfer->state.load() == Transfer::State::kPulled;
    if (size < Operations::kTransferSizeMin || !begun) continue;
    const auto kind = transfer->sends ? Operation::Kind::kUpload : Operation::Kind::kDownload;
    list.push_back({id, kind, address_.text(), moved, size});
  }
}

// So that people who look at the server see whose session this is.
void Session::introduce() {
  char host[kStatusTextMax + 1] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = 0;
  const std::string_view program(program_invocation_short_name);
  send(Introduce{static_cast<std::uint64_t>(::getpid()), host, program.substr(0, kStatusTextMax),
                 static_cast<std::uint32_t>(window_.count())});
  submit_now();
}

double Session::round_trip_us() {
  const auto begin = std::chrono::steady_clock::now();
  auto answered = std::make_shared<std::atomic<bool>>(false);
  send(Ping{expect_reply([answered](std::uint16_t, const Bytes*) { answered->store(true); })});
  if (!wait([&] { return answered->load(); }) || lost()) return -1;
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

BulkChannel& Session::channel_of(std::uint32_t device) const { return *channels_[device % channels_.size()]; }

TransferRef Session::begin_receive(std::uint32_t device, std::byte* to, std::uint64_t size,
                                   std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive) {
  auto transfer = std::make_shared<Transfer>();
  transfer->memory = to;
  transfer->size = size;
  return begin_transfer(device, std::move(transfer), std::move(finished), std::move(keep_alive));
}

TransferRef Session::begin_send(std::uint32_t device, const std::byte* from, std::uint64_t size,
                                std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive,
                                bool sender_waits) {
  auto transfer = std::make_shared<Transfer>();
  transfer->sends = true;
  transfer->memory = const_cast<std::byte*>(from);
  transfer->size = size;
  transfer->sender_waits = sender_waits;
  return begin_transfer(device, std::move(transfer), std::move(finished), std::move(keep_alive));
}

TransferRef Session::begin_push(std::uint32_t device, const std::byte* from, std::uint64_t size, bool sender_waits) {
  if (size > kPushMax || !channel_of(device).take_push_room(size)) return nullptr;
  auto transfer = std::make_shared<Transfer>();
  transfer->sends = transfer->is_pushed = true;
  // Where the server has taken all the others, there is room for this one: sending it needs no other thread.
  transfer->sender_waits = sender_waits || channel_of(device).is_only_push(size);
  transfer->memory = const_cast<std::byte*>(from);
  transfer->size = size;
  transfer->state.store(Transfer::State::kPulled);
  return begin_transfer(device, std::move(transfer), {}, nullptr);
}

TransferRef Session::begin_transfer(std::uint32_t device, TransferRef transfer, std::function<void(cl_int)> finished,
                                    std::shared_ptr<void> keep_alive) {
  transfer->id = next_id();
  transfer->channel = &channel_of(device);
  transfer->is_expected = !transfer->sends && transfer->size > kInlineDataMax && !has_one_channel();
  if (transfer->is_expected) transfer->channel->expect();
  transfer->finished = std::move(finished);
  transfer->keep_alive = std::move(keep_alive);
  {
    const MutexLock lock(tables_mutex_);
    if (!lost()) {
      transfers_.emplace(transfer->id, transfer);
      return transfer;
    }
  }
  end_transfer(transfer, CL_DEVICE_NOT_AVAILABLE);
  return transfer;
}

TransferRef Session::find_transfer(TransferId id) {
  const MutexLock lock(tables_mutex_);
  const auto at = transfers_.find(id);
  return at == transfers_.end() ? nullptr : at->second;
}

TransferRef Session::find_transfer(TransferId id, bool sends) {
  TransferRef transfer = find_transfer(id);
  return transfer && transfer->sends == sends ? transfer : nullptr;
}

void Session::end_transfer(const TransferRef& transfer, cl_int status) {
  {
    const MutexLock lock(transfer->mutex);
    if (std::exchange(transfer->is_over, true)) return;
    const bool has_more = !transfer->has_no_more && transfer->announced != transfer->size;
    if (status != CL_COMPLETE && !transfer->sends && has_more) transfer->channel->expect_rest(transfer);
  }
  {
    const MutexLock lock(tables_mutex_);
    transfers_.erase(transfer->id);
  }
  if (transfer->is_expected) transfer->channel->stop_expecting();
  const bool ok = status == CL_COMPLETE;
  if (TraceSink* const trace = TraceSink::current(); transfer->trace != 0 && ok && trace != nullptr) {
    trace->arrived(transfer->trace);
  }
  if (transfer->finished) std::exchange(transfer->finished, nullptr)(status);
  transfer->keep_alive.reset();
  transfer->failure = status;
  transfer->state.store(ok ? Transfer::State::kDone : Transfer::State::kFailed, std::memory_order_release);
}

void Session::fail_transfer(TransferId id, cl_int status) {
  const TransferRef transfer = find_transfer(id);
  if (transfer && !transfer->is_pushed) end_transfer(transfer, status);
}

bool Session::register_event(EventId id, const RefCounted& owner, EventSink& event) {
  const MutexLock lock(tables_mutex_);
  events_.add(id, owner, event);
  return !lost();
}

void Session::unregister_event(EventId id) {
  const MutexLock lock(tables_mutex_);
  events_.remove(id);
}

void Session::register_queue(ObjectId id, const RefCounted& owner, QueueSink& queue) {
  const MutexLock lock(tables_mutex_);
  queues_.add(id, owner, queue);
}

void Session::unregister_queue(ObjectId id) {
  const MutexLock lock(tables_mutex_);
  queues_.remove(id);
}

SinkTable<EventSink>::Found Session::find_event(EventId id) {
  const MutexLock lock(tables_mutex_);
  return events_.find(id);
}

SinkTable<QueueSink>::Found Session::find_queue(ObjectId id) {
  const MutexLock lock(tables_mutex_);
  return queues_.find(id);
}

Token Session::expect_reply(Reply reply) {
  const Token token = next_id();
  {
    const MutexLock lock(tables_mutex_);
    if (!lost()) {
      replies_.emplace(token, std::move(reply));
      return token;
    }
  }
  reply(0, nullptr);
  return token;
}

void Session::deliver_reply(Token token, std::uint16_t code, Bytes payload) {
  Reply reply;
  {
    const MutexLock lock(tables_mutex_);
    const auto at = replies_.find(token);
    if (at == replies_.end()) return;
    reply = std::move(at->second);
    replies_.erase(at);
  }
  reply(code, &payload);
}

void Session::lose(const std::string& reason) {
  {
    const MutexLock lock(lost_mutex_);
    if (lost()) return;
    lost_reason_ = reason;
    control_->shutdown();
    for (const auto& channel : channels_) channel->shutdown();
    const MutexLock tables_lock(tables_mutex_);
    lost_.store(true, std::memory_order_release);
  }
  if (!stopping_ && !shutdown_expected_) {
    notice("lost " + address_.text() + ": " + reason + "; its devices are not available any more");
  }
  std::vector<TransferRef> transfers;
  std::vector<SinkTable<EventSink>::Found> events;
  std::vector<Reply> replies;
  {
    const MutexLock lock(tables_mutex_);
    for (auto& [id, transfer] : transfers_) transfers.push_back(transfer);
    events = events_.all();
    for (auto& [token, reply] : replies_) replies.push_back(std::move(reply));
    replies_.clear();
  }
  for (const TransferRef& transfer : transfers) end_transfer(transfer, CL_DEVICE_NOT_AVAILABLE);
  for (const auto& event : events) event->lose();
  for (const Reply& reply : replies) reply(0, nullptr);
  PeerLinks::instance().lost(*this);
  if (TraceSink* const trace = TraceSink::current()) trace->lost();
  const MutexLock lock(inbox_mutex_);
  inbox_changed_.notify_all();
  background_wanted_.notify_all();
}

// The background thread's last act. Nobody reads any more; who still writes is waited for.
void Session::release() {
  {
    const MutexLock lock(lost_mutex_);
    last_traffic_ = traffic_so_far();
    is_released_ = true;
  }
  Submitter::instance().remove(*writer_);
  writer_->close();
  if (reconnector_) reconnector_->stop();
  for (const auto& channel : channels_) channel->release();
  for (const int descriptor : given_up_in_forks_) forget_in_child(descriptor);
  // The stream itself stays for threads that are just asking it whether there is room.
  streams_.control() != nullptr ? streams_.control()->release() : control_.reset();
  {
    const MutexLock lock(wake_mutex_);
    ::close(std::exchange(wake_, -1));
  }
  is_over_ = true;
}

void Session::reap() {
  if (is_over_ && background_thread_.joinable()) background_thread_.join();
}

}  // namespace remotecl
