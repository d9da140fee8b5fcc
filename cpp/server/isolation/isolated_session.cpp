#include "server/isolation/isolated_session.h"

#include <fcntl.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "runtime/base/process_watch.h"
#include "runtime/store/store.h"
#include "runtime/transport/shm/shared_memory_segment.h"
#include "runtime/transport/tcp/stream_connection.h"
#include "runtime/transport/tcp/tcp.h"
#include "server/isolation/content_memory.h"

namespace remotecl::server {
namespace {

// How long a client may take to read the last message of its session.
constexpr std::chrono::seconds kLastWordsTime{1};

constexpr std::chrono::milliseconds kDialTimeMax{30'000};

// A socket can be passed to another process. TLS can be decrypted only here.
bool is_socket(const Connection& connection) { return dynamic_cast<const StreamConnection*>(&connection) != nullptr; }

}  // namespace

IsolatedSession::IsolatedSession(std::unique_ptr<ChildProcess> process, Address client, std::string user,
                                 std::size_t devices, const PeerRules& peers, ContentStore* store)
    : process_(std::move(process)), client_(std::move(client)), user_(std::move(user)), peers_(peers), store_(store) {
  report_.totals.sessions = report_.totals.begun = 1;
  report_.devices.resize(devices);
}

bool IsolatedSession::begin(IncomingConnection& arrival, const BeginWords& words, int user_counters, int own_counters) {
  SessionChannel& channel = process_->channel();
  if (is_socket(*arrival.connection)) {
    const int socket = arrival.connection->wait_handle();
    if (!channel.send(ChannelWord::kBegin, words, {socket, user_counters, own_counters})) return false;
    arrival.connection.reset();
    return true;
  }
  first_ = std::make_unique<TlsRelay>(std::move(arrival.connection));
  const Descriptor end = first_->take_end();
  if (!channel.send(ChannelWord::kBegin, words, {end.get(), user_counters, own_counters})) {
    arrival.connection = first_->give_back();
    return false;
  }
  enter(*first_);
  first_thread_ = std::thread([this] {
    first_->run();
    leave(*first_);
  });
  return true;
}

bool IsolatedSession::send_further(IncomingConnection& arrival, int descriptor) {
  return process_->channel().send(ChannelWord::kFurther, GuestWords::of(arrival), {descriptor});
}

bool IsolatedSession::pass_on(IncomingConnection& arrival) {
  if (is_socket(*arrival.connection)) {
    if (!send_further(arrival, arrival.connection->wait_handle())) return false;
    arrival.place.leave();
    arrival.connection.reset();
    return true;
  }
  arrival.place.leave();  // the process bounds its pending handshakes itself
  TlsRelay relay(std::move(arrival.connection));
  if (!send_further(arrival, relay.take_end().get()) || !enter(relay)) {
    arrival.connection = relay.give_back();
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
  {
    // Watches the process, too: programs that a kernel has started may keep the channel's other end open
    // after the process has ended.
    const ProcessWatch watch(static_cast<std::uint64_t>(process_->id()));
    while (channel.await(watch.handle())) {
      auto packet = channel.receive();
      if (!packet) break;
      take(*packet);
    }
  }
  const ProcessEnd end = process_->end();
  while (auto packet = channel.receive()) take(*packet);
  {
    MutexLock lock(mutex_);
    gone_ = true;
    changed_.notify_all();
  }
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

void IsolatedSession::answer(std::uint64_t number, std::string_view failure, const Descriptor& descriptor) {
  const DoneWords words{number, failure};
  if (!descriptor.valid()) {
    process_->channel().send(ChannelWord::kDone, words);
  } else {
    process_->channel().send(ChannelWord::kDone, words, {descriptor.get()});
  }
}

// The process has checked the address, but it may be under an attacker's control, so the daemon checks again.
std::unique_ptr<StreamConnection> IsolatedSession::connect(const Address& to, std::chrono::milliseconds timeout) const {
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::string failure;
  for (const Address& number : tcp::resolve(to, timeout)) {
    failure = peers_.objection(number, client_);
    if (!failure.empty()) continue;
    try {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      return tcp::connect(number, std::max(left, std::chrono::milliseconds(1)));
    } catch (const ConnectionError& error) {
      failure = error.what();
    }
  }
  throw ConnectionError(failure);
}

void IsolatedSession::run_errand(std::uint64_t number, std::function<Descriptor()> work) {
  if (errands_running_ >= kErrandsMax) return answer(number, "too many connections at a time", Descriptor());
  ++errands_running_;
  const auto run = [this, number, work = std::move(work)] {
    try {
      answer(number, "", work());
    } catch (const std::exception& error) {
      answer(number, error.what(), Descriptor());
    }
    --errands_running_;
  };
  try {
    errands_.post(run);
  } catch (const std::system_error& error) {
    --errands_running_;
    answer(number, error.what(), Descriptor());
  }
}

void IsolatedSession::dial(const DialWords& words) {
  const auto timeout = std::min(std::chrono::milliseconds(words.timeout_ms), kDialTimeMax);
  run_errand(words.number, [this, address = Address{std::string(words.host), words.port}, timeout] {
    const auto connection = connect(address, timeout);
    return Descriptor(::fcntl(connection->wait_handle(), F_DUPFD_CLOEXEC, 0));
  });
}

void IsolatedSession::open(const OpenWords& words) {
  run_errand(words.number, [offer = SharedMemoryOffer{words.process, words.descriptor, words.cookie}] {
    return Descriptor(SharedMemorySegment::find(offer));
  });
}

bool IsolatedSession::may_store(std::size_t size) {
  constexpr std::uint64_t kLeast = 4096;
  return (store_traffic_ += std::max<std::uint64_t>(size, kLeast)) <= kStoreTrafficMax;
}

// The process has run code of its user's: whatever it stores only that user's sessions find, and only those that are
// contained as well.
void IsolatedSession::find(const StoreWords& words) {
  run_errand(words.number, [this, key = words.key] {
    const auto content = store_ == nullptr ? std::nullopt : store_->find("contained " + user_, key);
    return content && may_store(content->size()) ? memory_with(*content) : Descriptor();
  });
}

void IsolatedSession::keep(const StoreWords& words, SessionChannel::Packet& packet) {
  if (packet.descriptors.size() != 1) return;
  const auto memory = std::make_shared<Descriptor>(std::move(packet.descriptors.front()));
  run_errand(words.number, [this, key = words.key, memory] {
    const auto content = read_memory(*memory, Store::kContentSizeMax);
    if (store_ != nullptr && content && may_store(content->size())) store_->keep("contained " + user_, key, *content);
    return Descriptor();
  });
}

void IsolatedSession::take(SessionChannel::Packet& packet) {
  if (DialWords wanted; packet.word == ChannelWord::kDial && packet.read(wanted)) return dial(wanted);
  if (OpenWords wanted; packet.word == ChannelWord::kOpen && packet.read(wanted)) return open(wanted);
  if (StoreWords wanted; packet.word == ChannelWord::kFind && packet.read(wanted)) return find(wanted);
  if (StoreWords given; packet.word == ChannelWord::kKeep && packet.read(given)) return keep(given, packet);
  ReportWords words;
  StatusReport report;
  MutexLock lock(mutex_);
  const bool is_report = packet.word == ChannelWord::kReport || packet.word == ChannelWord::kEnded;
  if (!is_report || !packet.read(words) || !decode(words.report, report_.devices.size(), report)) return;
  ended_in_order_ = ended_in_order_ || packet.word == ChannelWord::kEnded;
  reported_ = words.number;
  report_ = std::move(report);
  changed_.notify_all();
}

void IsolatedSession::kick(std::uint64_t session, const std::string& words) {
  {
    MutexLock lock(mutex_);
    if (kicked_.empty()) kicked_ = words;
  }
  process_->channel().send(ChannelWord::kKick, KickWords{session, words});
}

std::string IsolatedSession::kicked() const {
  MutexLock lock(mutex_);
  return kicked_;
}

void IsolatedSession::ask(std::uint64_t number, std::chrono::seconds patience) {
  process_->channel().send(ChannelWord::kAsk, AskWords{number, static_cast<std::uint32_t>(patience.count())});
}

StatusReport IsolatedSession::report(std::uint64_t number, Deadline deadline) {
  MutexLock lock(mutex_);
  while (!gone_ && reported_ < number) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
  return report_;
}

}  // namespace remotecl::server
