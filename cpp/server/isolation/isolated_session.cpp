#include "server/isolation/isolated_session.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "runtime/store/store.h"
#include "runtime/transport/shm/shared_memory_segment.h"
#include "runtime/transport/tcp/stream_connection.h"
#include "server/isolation/content_memory.h"
#include "server/util/error_words.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

// How long a client may take to read the last message of its session.
constexpr std::chrono::seconds kLastWordsTime{1};

// Thrown if a kernel gets no socket.
struct SocketRefused {
  int error;
};

}  // namespace

bool IsolatedSession::is_socket(const Connection& connection) {
  return dynamic_cast<const StreamConnection*>(&connection) != nullptr;
}

IsolatedSession::IsolatedSession(std::unique_ptr<ChildProcess> process, std::unique_ptr<SessionShare> share,
                                 Address client, const User& user, SessionLoad load,
                                 std::function<void(bool)> wants_loads, std::function<void()> load_changed,
                                 Ref<LinkDialer> dialer, ContentStore* store, OpenForKernel open_for_kernel)
    : process_(std::move(process)),
      share_(std::move(share)),
      watch_(static_cast<std::uint64_t>(process_->id())),
      client_(std::move(client)),
      user_(user.name()),
      wants_loads_(std::move(wants_loads)),
      load_(std::move(load), std::move(load_changed)),
      dialer_(std::move(dialer)),
      content_(store, user_, user.is_one_person()),
      open_for_kernel_(std::move(open_for_kernel)) {
  report_.totals.sessions = report_.totals.begun = 1;
  report_.devices.resize(load_.get().devices.size());
}

bool IsolatedSession::begin(IncomingConnection& incoming, const BeginMessage& message) {
  if (is_socket(*incoming.connection)) {
    if (!send_begin(message, incoming.connection->wait_handle())) return false;
    incoming.connection.reset();
    return true;
  }
  try {
    first_ = std::make_unique<TlsRelay>(incoming.connection);
  } catch (const std::system_error& error) {
    log_error("no sockets to pass a TLS connection on: {}", error.what());
    return false;
  }
  const Descriptor end = first_->take_end();
  if (!send_begin(message, end.get())) {
    incoming.connection = first_->give_back();
    return false;
  }
  enter(*first_);
  try {
    first_thread_ = std::thread([this] {
      first_->run();
      leave(*first_);
    });
  } catch (const std::system_error& error) {
    log_error("no thread for a TLS connection: {}; its session ends", error.what());
    leave(*first_);
    first_->shutdown();
  }
  return true;
}

bool IsolatedSession::send_begin(const BeginMessage& message, int connection) {
  // What it has sent before its session begins must not count as sent by the session.
  if (SessionChannel& channel = process_->channel(); channel.await(std::chrono::steady_clock::now())) {
    if (auto packet = channel.receive()) take(*packet);
    return false;
  }
  const bool is_taken =
      process_->channel().send(PacketType::kBegin, message, {connection, share_->allowances(), share_->claims()});
  if (is_taken) state_ = ProcessState::kServing;
  has_begun_.store(is_taken, std::memory_order_release);
  return is_taken;
}

bool IsolatedSession::send_further(const ConnectionFields& connection, int descriptor) {
  return process_->channel().send(PacketType::kFurther, connection, {descriptor});
}

bool IsolatedSession::pass_on(IncomingConnection& incoming) {
  const ConnectionFields fields = ConnectionFields::of(incoming);
  if (is_socket(*incoming.connection)) {
    if (!send_further(fields, incoming.connection->wait_handle())) return false;
    incoming.handshake_slot.leave();
    incoming.connection.reset();
    return true;
  }
  incoming.handshake_slot.leave();  // the process bounds its pending handshakes itself
  TlsRelay relay(incoming.connection);
  if (!send_further(fields, relay.take_end().get()) || !enter(relay)) {
    incoming.connection = relay.give_back();
    return false;
  }
  relay.run();
  leave(relay);
  return true;
}

bool IsolatedSession::enter(TlsRelay& relay) {
  MutexLock lock(mutex_);
  if (gone_) return false;
  relays_.insert(&relay);
  return true;
}

void IsolatedSession::leave(TlsRelay& relay) {
  MutexLock lock(mutex_);
  relays_.erase(&relay);
  changed_.notify_all();
}

ProcessEnd IsolatedSession::run() {
  SessionChannel& channel = process_->channel();
  bool is_heard = true;  // until it sends what it may not
  while (is_heard && process_->await_packet(watch_.handle())) {
    auto packet = channel.receive();
    if (!packet) break;
    is_heard = take(*packet);
  }
  const ProcessEnd end = process_->end();
  while (is_heard && channel.await(std::chrono::steady_clock::now())) {
    auto packet = channel.receive();
    if (!packet || !take(*packet)) break;
  }
  {
    MutexLock lock(mutex_);
    gone_ = true;
    changed_.notify_all();
  }
  ending_.request_stop();
  end_relays();
  if (first_thread_.joinable()) first_thread_.join();
  return end;
}

void IsolatedSession::end_relays() {
  const auto end = std::chrono::steady_clock::now() + kLastWordsTime;
  MutexLock lock(mutex_);
  while (!relays_.empty() && changed_.wait_until(mutex_, end) != std::cv_status::timeout) {
  }
  for (TlsRelay* relay : relays_) relay->shutdown();
  while (!relays_.empty()) changed_.wait(mutex_);
}

void IsolatedSession::answer(std::uint64_t number, std::string_view failure, const Given& given, int error) {
  SessionChannel& channel = process_->channel();
  DoneMessage message{number, failure, error, given.checksum};
  if (given.descriptor.valid()) {
    if (channel.deliver(PacketType::kDone, message, {given.descriptor.get()}, watch_.handle())) return;
    message = {number, "the daemon has too many descriptors on their way", -EAGAIN, 0};
  }
  channel.deliver(PacketType::kDone, message, {}, watch_.handle());
}

void IsolatedSession::run_request(std::uint64_t number, std::function<Given()> work) {
  if (requests_running_ >= kRequestsMax) return answer(number, "too many connections at a time", Descriptor(), -EAGAIN);
  ++requests_running_;
  const auto run = [this, number, work = std::move(work)] {
    try {
      answer(number, "", work());
    } catch (const SocketRefused& refused) {
      answer(number, "", Descriptor(), refused.error);
    } catch (const std::exception& error) {
      answer(number, words_of(error), Descriptor());
    }
    --requests_running_;
  };
  try {
    requests_.post(run);
  } catch (const std::exception& error) {
    --requests_running_;
    answer(number, words_of(error), Descriptor());
  }
}

void IsolatedSession::open(const OpenMessage& message) {
  run_request(message.number, [offer = SharedMemoryOffer{message.process, message.descriptor, message.cookie}] {
    return Descriptor(SharedMemorySegment::find(offer));
  });
}

void IsolatedSession::find(const StoreMessage& message) {
  run_request(message.number, [this, key = message.key] {
    const auto content = content_.find(key);
    return content ? memory_with(*content) : Descriptor();
  });
}

void IsolatedSession::keep(const StoreMessage& message, SessionChannel::Packet& packet) {
  if (packet.lacks_descriptors) return answer(message.number, "the server has too many open files", Descriptor());
  const auto memory = std::make_shared<Descriptor>(std::move(packet.descriptors.front()));
  const bool is_upload = packet.type == PacketType::kKeepUpload;
  run_request(message.number, [this, key = message.key, memory, is_upload] {
    const auto content = read_memory(*memory, Store::kContentSizeMax);
    if (content) is_upload ? content_.keep_upload(key, *content) : content_.keep(key, *content);
    return Descriptor();
  });
}

// The descriptor lets the process read that file, and nothing else.
void IsolatedSession::open_upload(const StoreMessage& message) {
  run_request(message.number, [this, key = message.key] {
    StoredContent content = content_.open_upload(key);
    return Given(Descriptor(content.release()), content.checksum());
  });
}

void IsolatedSession::open_socket(const SocketMessage& message) {
  if (!open_for_kernel_) return answer(message.number, "", Descriptor(), -EACCES);
  run_request(message.number, [this, address = std::string(message.address), backlog = message.backlog] {
    const int socket = open_for_kernel_(address, backlog);
    if (socket < 0) throw SocketRefused{socket};
    return Descriptor(socket);
  });
}

bool IsolatedSession::take(SessionChannel::Packet& packet) {
  std::string wrong = objection(packet, state_);
  if (wrong.empty() && !obey(packet)) wrong = malformed(packet.type);
  if (!wrong.empty()) end_for(wrong);
  return wrong.empty();
}

void IsolatedSession::end_for(const std::string& wrong) {
  log_error("its process {}, of user {}, is ended: it {}", process(), user_, wrong);
  process_->kill();
  MutexLock lock(mutex_);
  if (why_ended_.empty()) why_ended_ = "the process that served this session " + wrong + ", which no session may";
}

Worker::Failed IsolatedSession::on_failure() {
  return [this](const std::exception& error) {
    process_->kill();
    MutexLock lock(mutex_);
    if (why_ended_.empty()) why_ended_ = words_of(error);
  };
}

bool IsolatedSession::obey(SessionChannel::Packet& packet) {
  const auto with = [&packet](auto message, auto&& act) { return packet.read(message) && (act(message), true); };
  switch (packet.type) {
    case PacketType::kDial:
      return with(DialMessage{}, [this](const auto& wanted) { dial(wanted); });
    case PacketType::kOpen:
      return with(OpenMessage{}, [this](const auto& wanted) { open(wanted); });
    case PacketType::kFind:
      return with(StoreMessage{}, [this](const auto& wanted) { find(wanted); });
    case PacketType::kKeep:
    case PacketType::kKeepUpload:
      return with(StoreMessage{}, [this, &packet](const auto& given) { keep(given, packet); });
    case PacketType::kOpenUpload:
      return with(StoreMessage{}, [this](const auto& wanted) { open_upload(wanted); });
    case PacketType::kDoubtUpload:
      return with(StoreMessage{}, [this](const auto& doubted) { content_.doubt_upload(doubted.key); });
    case PacketType::kOwner:
      return with(OwnerMessage{}, [this](const auto& said) { content_.set_owner(said.owner); });
    case PacketType::kOpenSocket:
      return with(SocketMessage{}, [this](const auto& wanted) { open_socket(wanted); });
    case PacketType::kWatchLoads:
      return with(WatchLoads{}, [this](const auto& asked) { wants_loads_(asked.is_wanted != 0); });
    case PacketType::kLoads:
      return with(DeviceLoads{}, [this](const auto& loads) { load_.report(loads); });
    case PacketType::kClaim: {
      ClaimMessage claim{};
      return packet.read(claim) && share_->claim({claim.number, claim.counter, claim.spares_some != 0});
    }
    case PacketType::kReport:
    case PacketType::kEnded: {
      ReportMessage message;
      return packet.read(message) && take_report(packet, message);
    }
    default:
      return false;
  }
}

bool IsolatedSession::take_report(const SessionChannel::Packet& packet, const ReportMessage& message) {
  StatusReport claimed;
  const SessionLoad load = load_.get();
  if (!decode(message.report, load.devices.size(), claimed)) return false;
  const double weight = load.devices.empty() ? 1 : load.devices.front().weight;
  StatusReport report = bounded(std::move(claimed), {load.session, user_, client_, weight, load.devices.size()});
  const bool is_last = packet.type == PacketType::kEnded;
  MutexLock lock(mutex_);
  if (!is_last && (unanswered_ == 0 || message.number > asked_)) return false;
  if (is_last) {
    state_ = ProcessState::kEnded;
    if (why_ended_.empty()) why_ended_ = bounded_text(message.why);
  } else {
    --unanswered_;
  }
  reported_ = std::max(reported_, is_last ? UINT64_MAX : message.number);
  report_ = std::move(report);
  changed_.notify_all();
  return true;
}

bool IsolatedSession::pass_loads(std::span<const LoadOfDevice> loads) {
  return process_->channel().send(PacketType::kLoads, DeviceLoads{loads});
}

void IsolatedSession::kick(std::uint64_t session, const std::string& message) {
  {
    MutexLock lock(mutex_);
    if (why_ended_.empty()) why_ended_ = message;
  }
  process_->channel().send(PacketType::kKick, KickMessage{session, message});
}

std::string IsolatedSession::why_ended() const {
  MutexLock lock(mutex_);
  return why_ended_;
}

void IsolatedSession::ask(std::uint64_t number, std::chrono::seconds patience) {
  {
    MutexLock lock(mutex_);
    if (unanswered_ == kQuestionsMax) return;
    asked_ = std::max(asked_, number);
    ++unanswered_;
  }
  if (process_->channel().send(PacketType::kAsk, AskMessage{number, static_cast<std::uint32_t>(patience.count())})) {
    return;
  }
  MutexLock lock(mutex_);
  --unanswered_;
}

StatusReport IsolatedSession::report(std::uint64_t number, Deadline deadline) {
  MutexLock lock(mutex_);
  while (!gone_ && reported_ < number) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
  return report_;
}

}  // namespace remotecl::server
