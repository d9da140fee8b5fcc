#include "server/session/session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <system_error>
#include <vector>

#include "runtime/handshake/channels.h"
#include "server/completion/event_poller.h"
#include "server/util/age.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Reads on for a moment after the last message, because closing a socket with unread bytes would discard what
// was sent.
void linger(Connection& connection) {
  using namespace std::chrono_literals;
  constexpr std::size_t kBytesMax = 16u << 20;
  std::vector<std::byte> ignored(64u << 10);
  connection.set_read_timeout(200ms);
  const auto end = std::chrono::steady_clock::now() + 1s;
  for (std::size_t total = 0; total < kBytesMax && std::chrono::steady_clock::now() < end;) {
    const std::size_t count = connection.read_some(ignored);
    if (count == 0) return;
    total += count;
  }
}

}  // namespace

Session::Session(const Shared& shared, std::unique_ptr<Connection> control, const Address& address, std::uint64_t id,
                 const Secret& secret, std::unique_ptr<Grant> grant, bool is_resumable)
    : Strand(id),
      shared_(shared),
      recovery_(id),
      control_(make_control(std::move(control), is_resumable)),
      secret_(secret),
      grant_(std::move(grant)),
      address_(address),
      counters_(make_ref<SessionCounters>(grant_->memory())),
      outbox_(*control_, counters_),
      objects_(shared.driver, *grant_, *this, counters_),
      execution_(*this, outbox_, counters_),
      transfers_(*this, issuer(), reporter(), outbox_, counters_),
      peers_({*this, issuer(), signals(), transfers_, outbox_, recovery_, *grant_, shared.peers, address_}),
      printf_execution_(*this, issuer(), outbox_, shared.output) {
  const unsigned channels = bulk_channels(static_cast<unsigned>(grant_->devices().size()));
  for (unsigned number = 0; number < channels; ++number) {
    channels_.push_back(make_ref<BulkChannel>(transfers_, recovery_, number));
  }
}

Session::~Session() = default;

void Session::run() {
  outbox_.add_encoded(grant_->device_list(shared_.driver));
  outbox_.flush();
  std::string last_words;
  try {
    serve();
  } catch (const ProtocolError& error) {
    last_words = error.what();
  } catch (const std::exception& error) {
    last_words = std::string("the server cannot go on with this session: ") + error.what();
  }
  const std::string reason = control_stream_ != nullptr ? control_stream_->reason() : "";
  if (!reason.empty()) log_warning("is given up: {}", reason);
  if (!last_words.empty()) {
    log_warning("{}", last_words);
    if (control_stream_ != nullptr) control_stream_->end_when_broken();
    outbox_.close_with(SessionError{last_words});
    linger(*control_);
  }
  note_over();
  tear_down();
}

void Session::serve() {
  MessageBuffer buffer;
  HeldMemory received(counters_);
  EventPoller poller(completions());
  for (;;) {
    received.follow(buffer.next_excess());
    const std::size_t count = poller.read_some(*control_, buffer.space());
    if (count == 0) return;
    buffer.commit(count);
    for (bool has_more = true; has_more;) {
      Ref<DeviceTurn> awaited;
      bool is_far_ahead = false;
      {
        LeavingLock lock(mutex_);
        has_more = issuer().is_crowded() || execute_some(buffer, poller);
        count_tables();
        settle();
        if (issuer().is_crowded()) awaited = issuer().gates().awaited();
        is_far_ahead = issuer().take_far_ahead();
      }
      outbox_.flush();
      if (!awaited && !is_far_ahead) continue;
      poller.leave();
      if (is_far_ahead) queue_watch().wait_for_backlog();
      if (!awaited) continue;
      awaited->wait();
      LeavingLock lock(mutex_);
      issuer().gates().open(*awaited);
    }
  }
}

bool Session::execute_some(MessageBuffer& buffer, EventPoller& poller) {
  std::uint16_t code = 0, flags = 0;
  Bytes payload;
  for (std::size_t i = 1;; ++i) {
    const auto next = buffer.next(code, payload, &flags);
    if (next == MessageBuffer::Next::kBroken) throw ProtocolError("a message is longer than the protocol allows");
    if (next != MessageBuffer::Next::kMessage) return false;
    if (flags == 0) [[likely]] {
      execute(code, payload);
    } else {
      execute_traced(code, flags, payload);
    }
    if (i % EventPoller::kMessagesPerLook == 0) {
      poller.leave();
      count_tables();
    }
    if (issuer().is_full()) return true;
  }
}

void Session::execute(std::uint16_t code, Bytes payload) {
  if (code >= shared_.handlers.size() || shared_.handlers[code] == nullptr) {
    throw ProtocolError("message code " + std::to_string(code) + " is not known");
  }
  counters_->count_message();
  shared_.handlers[code](*this, payload);
}

void Session::execute_traced(std::uint16_t code, std::uint16_t flags, Bytes payload) {
  if (flags != kTracedMessage) throw ProtocolError("a message has flags that are not known");
  reporter().relax_traces();
  events().trace_request().begin();
  execute(code, payload);
  if (events().trace_request().is_pending()) throw ProtocolError("a message that is no command asks for its times");
}

void Session::count_tables() {
  constexpr std::uint64_t kTransferSize = 256;  // a rough figure
  objects_.count(transfers_.size() * kTransferSize + issuer().table_size());
}

void Session::settle() {
  events().run_ready();
  issuer().flush_queues();
}

bool Session::run_locked(const std::function<void()>& job) {
  {
    LeavingLock lock(mutex_);
    if (closed_) return false;
    job();
    settle();
  }
  outbox_.flush();
  return true;
}

std::function<void()> Session::with_session(std::function<void()> job) {
  return [session = Ref<Session>(this), job = std::move(job)] {
    try {
      session->with_lock(job);
    } catch (const std::exception& error) {
      session->close(error.what());
    }
  };
}

void Session::later(std::function<void()> job) {
  if (EventPoller::is_reporting()) return EventPoller::after_reporting(with_session(std::move(job)));
  post(std::move(job));
}

void Session::post(std::function<void()> job) {
  try {
    continuations_.post(with_session(std::move(job)));
  } catch (const std::system_error& error) {  // no thread could be started
    close(std::string("the server cannot go on with this session: ") + error.what());
  }
}

void Session::close(const std::string& text) {
  if (text.empty()) {
    outbox_.close();
  } else {
    outbox_.close_with(SessionError{text});
  }
  control_->shutdown();
}

void Session::end_with(const std::string& text) {
  {
    MutexLock lock(client_mutex_);
    if (end_words_.empty()) end_words_ = text;
  }
  note_over();
  close(text);
}

std::string Session::end_words() const {
  MutexLock lock(client_mutex_);
  return end_words_;
}

void Session::note_over() {
  std::chrono::steady_clock::time_point never{};
  over_since_.compare_exchange_strong(never, std::chrono::steady_clock::now());
  shared_.watch.look_at_end();
}

std::optional<std::chrono::steady_clock::time_point> Session::over_since() const {
  const auto since = over_since_.load();
  return since == std::chrono::steady_clock::time_point{} ? std::nullopt : std::optional(since);
}

void Session::use_channels(unsigned wanted) {
  channel_count_.store(std::clamp<unsigned>(wanted, 1, static_cast<unsigned>(channels_.size())),
                       std::memory_order_release);
}

BulkChannel* Session::channel(unsigned number) const { return number < channels() ? channels_[number].get() : nullptr; }

BulkChannel& Session::channel_of(const Queue& queue) const { return *channels_[queue.device().index() % channels()]; }

void Session::find_ends() {
  // Gives way to threads that work with the session.
  if (!mutex_.try_lock()) return;
  if (!closed_) {
    objects_.queues.for_each([this](Queue& queue) {
      if (queue_watch().find_end(queue)) issuer().touch(queue);
    });
    issuer().flush_queues();
  }
  mutex_.unlock();
}

Traffic Session::traffic() const {
  Traffic traffic{control_->bytes_sent(), outbox_.messages(), control_->bytes_received(), counters_->messages()};
  for (const auto& channel : channels_) traffic += channel->traffic();
  return traffic;
}

StatusReport::OfSession Session::status() const {
  const auto over = over_since();
  Client client;
  {
    MutexLock lock(client_mutex_);
    client = client_;
  }
  return {false,
          id(),
          address_.text(),
          client.host,
          client.program,
          grant_->user().name().substr(0, kStatusTextMax),
          client.process,
          milliseconds_since(begun_),
          over ? std::max<std::uint64_t>(1, milliseconds_since(*over)) : 0,
          counters_->commands(),
          traffic(),
          counters_->memory()};
}

std::vector<StatusReport::OfLink> Session::links() {
  std::vector<StatusReport::OfLink> links;
  for (const auto& link : peers_.traffic()) {
    links.push_back({false, link.peer, link.address, link.connected, link.traffic});
  }
  return links;
}

void Session::tear_down() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
    // Sends that follow a transfer must stop waiting, because their threads are joined below.
    transfers_.end_followers();
  }
  outbox_.close();
  control_->shutdown();
  stripes_.close();
  for (const auto& channel : channels_) channel->shutdown();
  for (const auto& channel : channels_) channel->close();
  peers_.stop();
  transfers_.stop();
  builds_.stop();
  continuations_.stop();
  queue_watch().stop();
  printf_execution_.stop();
  outbox_.stop();
  MutexLock lock(mutex_);
  peers_.clear();
  issuer().drop_all();
  objects_.clear_programs();
  // Taking the receivers' transfers unmaps buffers, which is allowed once the driver no longer uses them and
  // adds more commands to wait for.
  const auto finish = [](const Queue& queue) {
    if (queue.native() != nullptr) clFinish(queue.native());
  };
  objects_.queues.for_each(finish);
  for (const auto& channel : channels_) channel->receiver().take_all();
  transfers_.clear();
  objects_.queues.for_each(finish);
  objects_.clear_memory();
  grant_->end();
}

}  // namespace remotecl::server
