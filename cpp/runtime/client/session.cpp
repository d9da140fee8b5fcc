#include "runtime/client/session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>

#include "runtime/client/event.h"
#include "runtime/client/fork.h"
#include "runtime/client/notice.h"
#include "runtime/client/peer_links.h"
#include "runtime/client/tracer.h"
#include "runtime/greeting/greeting.h"
#include "runtime/transport/shared_memory.h"
#include "runtime/transport/tcp.h"

namespace remotecl {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{5000};

}  // namespace

Session::Session(const Address& address, std::uint32_t index) : address_(address), index_(index) {
  control_ = tcp::connect(address, kConnectTimeout);
  welcome_ = greet(*control_, address, Role::kControl, 0, {});
  bulk_ = tcp::connect(address, kConnectTimeout);
  const std::uint64_t features = shared_memory::wanted() ? kFeatureSharedMemory : 0;
  const Welcome bulk_welcome = greet(*bulk_, address, Role::kBulk, welcome_.session, welcome_.secret, features);
  const int bulk_stream = bulk_->wait_handle();
  if ((bulk_welcome.features & features) != 0) share_memory();
  numeric_address_ = tcp::peer_address(*control_);
  receive_device_list();
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  given_up_in_forks_ = {control_->wait_handle(), bulk_stream, wake_};
  if (bulk_->wait_handle() != bulk_stream) given_up_in_forks_.push_back(bulk_->wait_handle());
  for (const int descriptor : given_up_in_forks_) give_up_in_child(descriptor);
  background_thread_ = std::thread([this] { background(); });
}

Session::~Session() {
  {
    const std::lock_guard lock(inbox_mutex_);
    stopping_ = true;
  }
  lose("the session was closed");
  background_wanted_.notify_all();
  background_thread_.join();
  sender_wanted_.notify_all();
  if (sender_.joinable()) sender_.join();
  for (const int descriptor : given_up_in_forks_) forget_in_child(descriptor);
  ::close(wake_);
}

void Session::share_memory() {
  bulk_->set_read_timeout(std::chrono::milliseconds(kHandshakeTimeoutMs));
  bulk_ = shared_memory::offer(std::move(bulk_));
  if (bulk_ == nullptr) throw ConnectionError(address_.text() + " ended the connection; see its log");
  bulk_->set_read_timeout(std::chrono::milliseconds(0));
}

void Session::receive_device_list() {
  control_->set_read_timeout(std::chrono::milliseconds(kHandshakeTimeoutMs));
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
  throw ConnectionError(address_.text() + " accepted the connection but did not list its devices; see its log");
}

std::string Session::lost_reason() const {
  const std::lock_guard lock(lost_mutex_);
  return lost_reason_;
}

SessionStats Session::stats() const {
  return {control_->bytes_sent() + bulk_->bytes_sent(), control_->bytes_received() + bulk_->bytes_received(),
          messages_sent_.load(std::memory_order_relaxed), messages_received_.load(std::memory_order_relaxed)};
}

double Session::round_trip_us() {
  const auto begin = std::chrono::steady_clock::now();
  auto answered = std::make_shared<std::atomic<bool>>(false);
  send(Ping{expect_reply([answered](std::uint16_t, const Bytes*) { answered->store(true); })});
  if (!wait([&] { return answered->load(); }) || lost()) return -1;
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

void Session::write_out() {
  if (out_.empty()) return;
  if (!control_->write(out_.bytes())) {
    // The reader finds the connection closed and does the rest: here locks are held.
    control_->shutdown();
  }
  out_.clear();
  out_.shrink(1u << 20);
}

void Session::flush() {
  const std::lock_guard lock(out_mutex_);
  write_out();
}

TransferRef Session::begin_receive(std::byte* to, std::uint64_t size, std::function<void(bool)> finished,
                                   std::shared_ptr<void> keep_alive) {
  auto transfer = std::make_shared<Transfer>();
  transfer->memory = to;
  transfer->size = size;
  return begin_transfer(std::move(transfer), std::move(finished), std::move(keep_alive));
}

TransferRef Session::begin_send(const std::byte* from, std::uint64_t size, std::function<void(bool)> finished,
                                std::shared_ptr<void> keep_alive, bool sender_waits) {
  auto transfer = std::make_shared<Transfer>();
  transfer->sends = true;
  transfer->memory = const_cast<std::byte*>(from);
  transfer->size = size;
  transfer->sender_waits = sender_waits;
  return begin_transfer(std::move(transfer), std::move(finished), std::move(keep_alive));
}

TransferRef Session::begin_transfer(TransferRef transfer, std::function<void(bool)> finished,
                                    std::shared_ptr<void> keep_alive) {
  transfer->id = next_id();
  transfer->finished = std::move(finished);
  transfer->keep_alive = std::move(keep_alive);
  {
    const std::lock_guard lock(tables_mutex_);
    if (!lost()) {
      transfers_.emplace(transfer->id, transfer);
      return transfer;
    }
  }
  end_transfer(transfer, false);
  return transfer;
}

TransferRef Session::find_transfer(TransferId id) {
  const std::lock_guard lock(tables_mutex_);
  const auto at = transfers_.find(id);
  return at == transfers_.end() ? nullptr : at->second;
}

TransferRef Session::find_transfer(TransferId id, bool sends) {
  TransferRef transfer = find_transfer(id);
  return transfer && transfer->sends == sends ? transfer : nullptr;
}

void Session::end_transfer(const TransferRef& transfer, bool ok) {
  {
    const std::lock_guard lock(tables_mutex_);
    if (transfer->ended()) return;
    transfers_.erase(transfer->id);
    transfer->state.store(ok ? Transfer::State::kDone : Transfer::State::kFailed, std::memory_order_release);
  }
  if (transfer->trace != 0 && ok) Tracer::instance().arrived(transfer->trace);
  if (transfer->finished) std::exchange(transfer->finished, nullptr)(ok);
  transfer->keep_alive.reset();
}

void Session::fail_transfer(TransferId id) {
  if (const TransferRef transfer = find_transfer(id)) end_transfer(transfer, false);
}

void Session::register_event(Event& event) {
  const std::lock_guard lock(tables_mutex_);
  events_.emplace(event.id(), &event);
}

void Session::unregister_event(EventId id) {
  const std::lock_guard lock(tables_mutex_);
  events_.erase(id);
}

void Session::register_queue(CommandQueue& queue, ObjectId id) {
  const std::lock_guard lock(tables_mutex_);
  queues_.emplace(id, &queue);
}

void Session::unregister_queue(ObjectId id) {
  const std::lock_guard lock(tables_mutex_);
  queues_.erase(id);
}

Ref<Event> Session::find_event(EventId id) {
  const std::lock_guard lock(tables_mutex_);
  const auto at = events_.find(id);
  // The last reference may be going away right now, in a thread that waits for this lock to unregister the event.
  if (at == events_.end() || !at->second->try_retain()) return nullptr;
  return Ref<Event>::adopt(at->second);
}

Ref<CommandQueue> Session::find_queue(ObjectId id) {
  const std::lock_guard lock(tables_mutex_);
  const auto at = queues_.find(id);
  if (at == queues_.end() || !at->second->try_retain()) return nullptr;
  return Ref<CommandQueue>::adopt(at->second);
}

Token Session::expect_reply(Reply reply) {
  const Token token = next_id();
  {
    const std::lock_guard lock(tables_mutex_);
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
    const std::lock_guard lock(tables_mutex_);
    const auto at = replies_.find(token);
    if (at == replies_.end()) return;
    reply = std::move(at->second);
    replies_.erase(at);
  }
  reply(code, &payload);
}

void Session::lose(const std::string& reason) {
  {
    const std::lock_guard lock(lost_mutex_);
    if (lost()) return;
    lost_reason_ = reason;
  }
  if (!stopping_ && !shutdown_expected_) {
    notice("lost " + address_.text() + ": " + reason + "; its devices are not available any more");
  }
  control_->shutdown();
  bulk_->shutdown();
  std::vector<TransferRef> transfers;
  std::vector<Ref<Event>> events;
  std::vector<Reply> replies;
  {
    const std::lock_guard lock(tables_mutex_);
    lost_.store(true, std::memory_order_release);
    for (auto& [id, transfer] : transfers_) transfers.push_back(transfer);
    for (auto& [id, event] : events_) {
      if (event->try_retain()) events.push_back(Ref<Event>::adopt(event));
    }
    for (auto& [token, reply] : replies_) replies.push_back(std::move(reply));
    replies_.clear();
  }
  for (const TransferRef& transfer : transfers) end_transfer(transfer, false);
  for (const Ref<Event>& event : events) event->lose();
  for (const Reply& reply : replies) reply(0, nullptr);
  PeerLinks::instance().lost(*this);
  Tracer::instance().lost();
  sender_wanted_.notify_all();
  const std::lock_guard lock(inbox_mutex_);
  inbox_changed_.notify_all();
}

}  // namespace remotecl
