#include "server/session/session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <system_error>
#include <vector>

#include "runtime/handshake/channels.h"
#include "server/completion/event_poller.h"
#include "server/transfer/kept_bytes.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

// From the code of a command to what decodes and handles it. commands.def makes the table.
struct Dispatch {
  using Handler = void (*)(Session&, Bytes);
  enum class Place { kInline, kWorker };

  template <class Message>
  static Message decode(Bytes payload) {
    Message message{};
    Decoder decoder(payload);
    if (!decoder.read(message) || !decoder.at_end()) {
      throw ProtocolError("a " + std::string(message_name(Message::kCode)) + " message is malformed");
    }
    return message;
  }

  template <class Message, Place place>
  static void handle(Session& session, Bytes payload) {
    const auto message = decode<Message>(payload);
    if constexpr (place == Place::kInline) {
      session.handle(message);
    } else {
      ProgramWork work = session.work_of(message);
      auto copy = std::make_shared<KeptBytes>(session.counters_, payload);
      session.builds_.post([&session, work = std::move(work), copy] {
        try {
          session.work(decode<Message>(copy->bytes()), work);
        } catch (const std::exception& error) {
          session.close(error.what());
        }
      });
    }
  }

  static constexpr std::size_t kCodes = 128;
  static constexpr std::array<Handler, kCodes> make_table() {
    std::array<Handler, kCodes> table{};
#define REMOTECL_COMMAND(name, number, place) table[number] = &handle<name, Place::place>;
#define REMOTECL_REPORT(name, number)
#define REMOTECL_PEER_MESSAGE(name, number)
#include "runtime/protocol/commands.def"
    return table;
  }
};

namespace {

constexpr auto kHandlers = Dispatch::make_table();

// Reads on for a moment after the last words: closing a socket with unread bytes would take them back.
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
    : shared_(shared),
      control_(make_control(std::move(control), is_resumable)),
      id_(id),
      secret_(secret),
      grant_(std::move(grant)),
      address_(address),
      counters_(make_ref<SessionCounters>(grant_->memory())),
      outbox_(*control_, counters_),
      issuer_(*this, outbox_, counters_) {
  const unsigned channels = bulk_channels(static_cast<unsigned>(grant_->devices().size()));
  for (unsigned number = 0; number < channels; ++number) {
    channels_.push_back(std::make_unique<BulkChannel>(*this, outbox_, number));
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
  EventPoller poller;
  for (;;) {
    received.follow(buffer.next_excess());
    const std::size_t count = poller.read_some(*control_, buffer.space());
    if (count == 0) return;
    buffer.commit(count);
    shared_.activity.note(id_);
    for (bool has_more = true; has_more;) {
      Ref<DeviceTurn> full;
      bool is_far_ahead = false;
      {
        LeavingLock lock(mutex_);
        has_more = execute_some(buffer, poller);
        count_tables();
        settle();
        full = issuer_.take_full();
        is_far_ahead = issuer_.take_far_ahead();
      }
      outbox_.flush();
      if (!full && !is_far_ahead) continue;
      poller.leave();
      if (full) full->wait();
      if (is_far_ahead) backlog_->wait();
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
    if (issuer_.is_full()) return true;
  }
}

void Session::execute(std::uint16_t code, Bytes payload) {
  if (code >= kHandlers.size() || kHandlers[code] == nullptr) {
    throw ProtocolError("message code " + std::to_string(code) + " is not known");
  }
  counters_->count_message();
  kHandlers[code](*this, payload);
}

void Session::execute_traced(std::uint16_t code, std::uint16_t flags, Bytes payload) {
  if (flags != kTracedMessage) throw ProtocolError("a message has flags that are not known");
  trace_hurried_.store(false, std::memory_order_relaxed);
  issuer_.trace_next(++traced_commands_);
  execute(code, payload);
  if (!issuer_.trace_taken()) throw ProtocolError("a message that is no command asks for its times");
}

void Session::count_tables() {
  // About, with their places in the tables. A queue may have a block for small writes.
  constexpr std::uint64_t kObjectSize = 256, kQueueSize = BlockPool::kBlockSize + 16384;
  const std::uint64_t objects = buffers_.size() + images_.size() + samplers_.size() + programs_.size() +
                                kernels_.size() + command_buffers_.size() + progress_.size();
  tables_.follow(objects * kObjectSize + queues_.size() * kQueueSize + issuer_.table_size());
}

void Session::settle() {
  issuer_.run_ready();
  issuer_.flush_queues();
}

void Session::later(std::function<void()> job) {
  auto run_it = [session = Ref<Session>(this), job = std::move(job)] { session->run(job); };
  if (EventPoller::is_telling()) return EventPoller::after_telling(std::move(run_it));
  try {
    continuations_.post(std::move(run_it));
  } catch (const std::system_error& error) {  // no thread
    close(std::string("the server cannot go on with this session: ") + error.what());
  }
}

void Session::run(const std::function<void()>& job) {
  try {
    with_lock(job);
  } catch (const std::exception& error) {
    close(error.what());
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

void Session::tear_down() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
    // Who follows a transfer must not go on waiting: its thread is joined below.
    for (const auto& [id, progress] : progress_) progress->end(CL_DEVICE_NOT_AVAILABLE);
  }
  outbox_.close();
  control_->shutdown();
  stripes_.close();
  for (const auto& channel : channels_) channel->shutdown();
  for (const auto& channel : channels_) channel->close();
  peers_.stop();
  movers_.stop();
  rings_.clear();
  builds_.stop();
  continuations_.stop();
  finishers_.stop();
  searchers_.stop();
  printers_.stop();
  outbox_.stop();
  MutexLock lock(mutex_);
  peers_.clear();
  issuer_.drop_all();
  command_buffers_.clear();
  kernels_.clear();
  programs_.clear();
  // Mapped buffers are unmapped once the driver has nothing to do with them; that is one more command to wait
  // for.
  const auto finish = [](const Queue& queue) {
    if (queue.native() != nullptr) clFinish(queue.native());
  };
  queues_.for_each(finish);
  for (const auto& channel : channels_) channel->receiver().take_all();
  for (const auto& [id, progress] : progress_) {
    if (const Ref<IncomingTransfer> transfer = progress->transfer()) transfer->ended(CL_DEVICE_NOT_AVAILABLE);
  }
  progress_.clear();
  queues_.for_each(finish);
  images_.clear();
  samplers_.clear();
  buffers_.clear();
  svm_.clear();
  letting_go_.clear();
  queues_.clear();
  for (const auto& [device, turn] : turns_) {
    if (turn) turn->leave();
  }
  grant_->end();
}

}  // namespace remotecl::server
