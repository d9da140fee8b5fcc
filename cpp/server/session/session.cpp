#include "server/session/session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <vector>

#include "runtime/handshake/channels.h"
#include "server/completion/event_poller.h"
#include "server/util/age.h"
#include "server/util/error_words.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Reads on for a moment after the last message, because closing a socket with unread bytes would discard what
// was sent.
void linger(Connection& connection) {
  using namespace std::chrono_literals;
  constexpr std::size_t kBytesMax = 16u << 20;
  std::array<std::byte, 16u << 10> ignored;
  connection.set_read_timeout(200ms);
  const auto end = std::chrono::steady_clock::now() + 1s;
  for (std::size_t total = 0; total < kBytesMax && std::chrono::steady_clock::now() < end;) {
    const std::size_t count = connection.read_some(ignored);
    if (count == 0) return;
    total += count;
  }
}

}  // namespace

Session::Session(const Shared& shared, std::shared_ptr<Connection> control, const Address& address, std::uint64_t id,
                 const Secret& secret, std::unique_ptr<Grant> grant, bool is_resumable)
    : Strand(id),
      shared_(shared),
      recovery_(id),
      control_(make_control(std::move(control), is_resumable)),
      client_(address, secret, std::move(grant)),
      counters_(make_ref<SessionCounters>(client_.grant().memory())),
      arguments_(shared.arguments.begin(client_.grant(), id, counters_)),
      outbox_(*control_.connection, counters_),
      objects_(shared.driver, client_.grant(), *this, counters_),
      execution_(*this, outbox_, counters_),
      transfers_(*this, issuer(), reporter(), outbox_, counters_),
      channels_(transfers_, recovery_, bulk_channels(static_cast<unsigned>(client_.grant().devices().size()))),
      peers_({*this, issuer(), signals(), transfers_, *arguments_, outbox_, recovery_, client_.grant(), shared.peers,
              shared.dialers({id, client_.grant().user().name(), client_.address()}), client_.address()}),
      printf_execution_(*this, issuer(), outbox_, shared.output) {}

Session::~Session() = default;

void Session::run() {
  std::string last_words;
  try {
    outbox_.add_encoded(client_.grant().device_list(shared_.driver));
    outbox_.flush();
    serve();
  } catch (const ProtocolError& error) {
    last_words = error.what();
  } catch (const std::exception& error) {
    last_words = "the server cannot go on with this session: " + words_of(error);
  }
  guard([&] { say(std::move(last_words)); });
  tear_down();
}

void Session::say(std::string last_words) {
  arguments_->stop();
  const std::string reason = control_.stream != nullptr ? control_.stream->reason() : "";
  if (!reason.empty()) log_warning("is given up: {}", reason);
  if (last_words.empty()) last_words = outbox_.failure();
  end(last_words.empty() ? reason : last_words);  // before the connection can break: a client that returns is told
  if (last_words.empty()) return;
  log_warning("{}", last_words);
  if (control_.stream != nullptr) control_.stream->end_when_broken();
  outbox_.close_with(SessionError{last_words});
  linger(*control_.connection);
}

void Session::serve() {
  MessageBuffer buffer;
  HeldMemory received(counters_);
  EventPoller poller(completions());
  for (;;) {
    received.follow(buffer.next_excess());
    const std::size_t count = poller.read_some(*control_.connection, buffer.space());
    if (count == 0) return;
    buffer.commit(count);
    for (bool has_more = true; has_more;) {
      Ref<DeviceTurn> awaited;
      bool is_far_ahead = false;
      {
        LeavingLock lock(mutex());
        has_more = issuer().is_crowded() || execute_some(buffer, poller);
        count_tables();
        settle();
        if (issuer().is_crowded()) awaited = issuer().gates().awaited();
        is_far_ahead = issuer().take_far_ahead();
      }
      shared_.loads.changed();
      outbox_.flush();
      if (!awaited && !is_far_ahead) continue;
      poller.leave();
      if (is_far_ahead) queue_watch().wait_for_backlog();
      if (!awaited) continue;
      if (!await_turn(*awaited, buffer)) return;
      LeavingLock lock(mutex());
      issuer().gates().open(*awaited);
      has_more = true;  // commands that waited at the gate, even if no message is left
    }
  }
}

// Other sessions' commands may take for ever, and a session that is over, or whose client is gone, must not wait for
// them with all that it holds.
bool Session::await_turn(DeviceTurn& turn, MessageBuffer& buffer) {
  constexpr std::chrono::milliseconds kLook{20};
  while (!turn.wait_for(kLook)) {
    if (lifetime_.over_since() || !read_ahead(buffer)) return false;
  }
  return true;
}

bool Session::read_ahead(MessageBuffer& buffer) {
  constexpr std::size_t kReadAhead = 1u << 20;
  if (buffer.pending() >= kReadAhead) return true;
  const std::ptrdiff_t count = control_.connection->try_read_some(buffer.space());
  if (count > 0) buffer.commit(static_cast<std::size_t>(count));
  return count != 0;
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
      execute_flagged(code, flags, payload);
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

void Session::execute_flagged(std::uint16_t code, std::uint16_t flags, Bytes payload) {
  if ((flags & ~(kTracedMessage | kPlacedMessage)) != 0) throw ProtocolError("a message has flags that are not known");
  const bool is_placed = (flags & kPlacedMessage) != 0;
  if (is_placed && code != EnqueueKernel::kCode) throw ProtocolError("a message that runs no kernel was placed");
  (flags & kTracedMessage) != 0 ? execute_traced(code, payload) : execute(code, payload);
  if (!is_placed) return;
  EnqueueKernel message{};  // decoded again, so that other commands need not look whether they are placed
  if (Decoder(payload).read(message)) objects_.queue(message.queue).progress()->count_placed();
}

void Session::execute_traced(std::uint16_t code, Bytes payload) {
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
    LeavingLock lock(mutex());
    if (closed_) return false;
    job();
    settle();
  }
  outbox_.flush();
  return true;
}

std::function<void()> Session::with_session(std::function<void()> job) {
  return [session = Ref<Session>(this), job = std::move(job)] { session->with_lock(job); };
}

void Session::later(std::function<void()> job) {
  if (EventPoller::is_reporting()) return EventPoller::after_reporting(with_session(std::move(job)));
  post(std::move(job));
}

void Session::post(std::function<void()> job) {
  try {
    continuations_.post(with_session(std::move(job)));
  } catch (const std::exception& error) {  // no thread could be started
    fail(error);
  }
}

void Session::close(const std::string& text) {
  arguments_->stop();  // kernels that wait for one would keep the session
  if (text.empty()) {
    outbox_.close();
  } else {
    end(text);  // first: the client may return before the connection has ended here
    outbox_.close_with(SessionError{text});
  }
  control_.connection->shutdown();
}

void Session::end(const std::string& reason) {
  lifetime_.end(reason);
  shared_.watch.look_again();
}

void Session::find_ends() {
  // Gives way to threads that work with the session.
  if (!mutex().try_lock()) return;
  const MutexLock lock(mutex(), AdoptLock{});
  if (closed_) return;
  objects_.queues.for_each([this](Queue& queue) REQUIRES(session_lock) {
    if (queue_watch().find_end(queue)) issuer().touch(queue);
  });
  issuer().flush_queues();
}

Traffic Session::traffic() const {
  Traffic traffic{control_.connection->bytes_sent(), outbox_.messages(), control_.connection->bytes_received(),
                  counters_->messages()};
  traffic += channels_.traffic();
  return traffic;
}

StatusReport::OfSession Session::status() const {
  const auto over = lifetime_.over_since();
  Client::Claims claims = client_.claims();
  return {false,
          id(),
          address().text(),
          std::move(claims.host),
          std::move(claims.program),
          client_.grant().user().name().substr(0, kStatusTextMax),
          claims.process,
          milliseconds_since(lifetime_.begun()),
          over ? std::max<std::uint64_t>(1, milliseconds_since(*over)) : 0,
          counters_->commands(),
          traffic(),
          counters_->memory(),
          {},
          channels_.rdma(),
          arguments_->status(),
          client_.grant().weight()};
}

std::vector<StatusReport::OfLink> Session::links() {
  std::vector<StatusReport::OfLink> links;
  for (const auto& link : peers_.traffic()) {
    links.push_back({false, link.peer, link.address, link.connected, link.traffic, link.rdma});
  }
  return links;
}

void Session::tear_down() {
  {
    MutexLock lock(mutex());
    closed_ = true;
    objects_.end_turns();  // the threads below may wait for one
    // Sends that follow a transfer must stop waiting, because their threads are joined below.
    transfers_.end_followers();
  }
  outbox_.close();
  control_.connection->shutdown();
  stripes_.close();
  channels_.close();
  peers_.stop();
  transfers_.stop();
  builder_.stop();
  continuations_.stop();
  queue_watch().stop();
  printf_execution_.stop();
  outbox_.stop();
  // Nothing waits for the lock while this waits for the driver: the session's other threads have ended, and the only
  // one of the server that takes it, in find_ends(), gives way.
  MutexLock lock(mutex());
  peers_.clear();
  issuer().drop_all();
  objects_.clear_programs();
  // Taking the receivers' transfers unmaps buffers, which is allowed once the driver no longer uses them and
  // adds more commands to wait for.
  const auto finish = [](const Queue& queue) {
    if (queue.native() != nullptr) clFinish(queue.native());
  };
  objects_.queues.for_each(finish);
  channels_.drop_transfers();
  transfers_.clear();
  objects_.queues.for_each(finish);
  objects_.clear_memory();
  client_.grant().end();
}

}  // namespace remotecl::server
