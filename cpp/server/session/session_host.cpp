#include "server/session/session_host.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <vector>

#include "runtime/crypto/secret.h"
#include "runtime/handshake/bulk_offload.h"
#include "runtime/handshake/rdma_wish.h"
#include "runtime/handshake/stripes.h"
#include "runtime/protocol/device_figures.h"
#include "server/admission/handshake.h"
#include "server/util/error_words.h"
#include "server/util/format.h"
#include "server/util/log.h"
#include "server/wire/rdma_log.h"

namespace remotecl::server {
namespace {

// The allocator keeps the memory of ended sessions for future ones, which may never come: a hundred clients
// left 370 MB behind, of which 90 were in use.
void give_back_free_memory() {
#ifdef __GLIBC__
  static Mutex mutex;
  if (!mutex.try_lock()) return;
  ::malloc_trim(0);
  mutex.unlock();
#endif
}

// The default if other sessions share the process.
void warn_stuck(Session& session) {
  log_warning(
      "is over, and does not end: a command or a build of user {} goes on after {} s. Its memory and its place among "
      "the user's sessions stay taken until that ends; where it never does, start the server anew. With --isolate the "
      "session's own process would have been ended",
      session.grant().user().name(), SessionWatch::kEndPatience.count());
}

}  // namespace

SessionHost::SessionHost(const HandlerTable& handlers, NativeDriver& driver, RejectionCounts& refusals,
                         std::uint64_t epoch, const PeerRules& peers, MakeLinkDialer dialers,
                         std::function<void(Session&)> stuck, ContentStore* store, BulkOffloadAcceptor* rdma,
                         const ArgumentProvider& arguments)
    : handlers_(handlers),
      driver_(driver),
      refusals_(refusals),
      epoch_(epoch),
      peers_(peers),
      dialers_(std::move(dialers)),
      built_(store),
      uploads_(store != nullptr ? store->uploads() : nullptr),
      store_(store),
      board_(driver),
      loads_(driver, [this] { board_.find_ends(); }),
      rdma_(rdma),
      arguments_(arguments),
      watch_(driver, stuck == nullptr ? warn_stuck : std::move(stuck)) {
  constexpr cl_bool kHas = CL_TRUE;
  for (const auto& device : driver.devices()) {
    if (arguments.serves(*device)) device->say(kDeviceKernelSockets, std::as_bytes(std::span(&kHas, 1)));
  }
}

SessionHost::~SessionHost() {
  if (rdma_ != nullptr) rdma_->stop();
}

void SessionHost::serve_session(IncomingConnection& incoming, const Admission& admission,
                                std::unique_ptr<Grant> grant) {
  const std::uint64_t id = admission.session;
  const std::shared_ptr<Connection> control = std::move(incoming.connection);
  Ref<Session> session;
  try {
    MutexLock lock(mutex_);
    if (closed_) return;
    session = make_ref<Session>(Shared{handlers_, driver_, files_, built_, uploads_, store_, output_, board_, loads_,
                                       peers_, dialers_, watch_, arguments_},
                                limit_rate(control, grant->rate_limits()), incoming.from, id, admission.secret,
                                std::move(grant), (admission.features & kFeatureResumable) != 0);
    session->outbox().hold();  // who ends it at once must not be faster than the Welcome
    sessions_.emplace(id, session);
  } catch (const std::exception& error) {
    const std::string words = words_of(error);
    log_error("no session for {}: {}", incoming.from.text(), words);
    return refuse(*control, Refusal::kBusy, WelcomeStatus::kBusy, cannot_serve(words));
  }
  try {
    board_.add(session);
    loads_.add(id, session->grant().weight());
    watch_.add(session);
    session->outbox().begin([&] { welcome(*control, epoch_, admission); });
  } catch (const std::exception& error) {  // run() then ends at once, and leaves nothing behind
    session->close("the server cannot begin this session: " + words_of(error));
  }
  log_info("begins, from {}, for user {}", session->address().text(), session->grant().user().name());
  try {
    session->run();
  } catch (const std::exception& error) {  // the session's destructor ends what is left of it
    log_error("{}", words_of(error));
  }
  log_info("ends");
  loads_.remove(id);
  board_.remove(*session);
  watch_.remove(*session);
  {
    std::string why = session->lifetime().end_reason();
    MutexLock lock(mutex_);
    sessions_.erase(id);
    removed_.notify_all();
    if (!why.empty()) ended_.add(id, std::move(why));
  }
  session = nullptr;
  give_back_free_memory();
}

void SessionHost::serve_further(IncomingConnection& incoming) {
  const Role role = incoming.hello.role;
  if ((incoming.hello.features & kFeatureResume) != 0) {
    serve_return(incoming);
  } else if (role == Role::kBulk) {
    serve_bulk(incoming);
  } else if (role == Role::kPeerControl || role == Role::kPeerBulk) {
    serve_peer(incoming);
  } else if (role == Role::kStripe) {
    serve_stripe(incoming);
  }
}

void SessionHost::save_all(std::chrono::steady_clock::time_point deadline) {
  uploads_.save_all(deadline);
  built_.stored()->save_all(deadline);
}

void SessionHost::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  for (const auto& [id, session] : sessions_) session->close("the server is shutting down");
}

Ref<Session> SessionHost::find_session(std::uint64_t id) const {
  MutexLock lock(mutex_);
  const auto at = sessions_.find(id);
  return at == sessions_.end() ? nullptr : at->second;
}

KickResult SessionHost::kick(std::uint64_t id, const User* user, const std::string& words) {
  const Ref<Session> session = find_session(id);
  if (!session || (user != nullptr && session->grant().user().name() != user->name())) return KickResult::kUnknown;
  session->close(words);
  const auto end = std::chrono::steady_clock::now() + SessionWatch::kEndPatience;
  MutexLock lock(mutex_);
  while (sessions_.contains(id)) {
    if (removed_.wait_until(mutex_, end) == std::cv_status::timeout) return KickResult::kEnding;
  }
  return KickResult::kEnded;
}

std::string SessionHost::what_became_of(const Session* session, std::uint64_t id) const {
  std::string words = session == nullptr ? std::string() : session->lifetime().end_reason();
  if (words.empty()) words = why_ended(id);
  return words.empty() ? "the session has ended here; it is kept only for a while when its connection is lost" : words;
}

std::string SessionHost::why_ended(std::uint64_t id) const {
  MutexLock lock(mutex_);
  return ended_.find(id);
}

void SessionHost::refuse(Connection& connection, Refusal why, WelcomeStatus status, std::string_view text) {
  refusals_.count(why);
  server::refuse(connection, epoch_, status, text);
}

// The features of a bulk connection.
std::uint64_t SessionHost::possible_features(const IncomingConnection& incoming, const Session& session) const {
  return bulk_features() | kFeatureResumable | rdma_features(rdma_wish_for(incoming.hello, session));
}

// RDMA is for connections that are neither encrypted nor limited in their rate.
RdmaState SessionHost::rdma_wish_for(const Hello& hello, const Session& session) const {
  const bool is_encrypted =
      rdma_ == nullptr;  // a server that wants RDMA, and may have it, has it for plain connections
  RdmaState wish = rdma_wish(is_encrypted, !session.grant().rate_limits().empty());
  if (!wish.is_wanted()) return wish;
  if ((hello.features & kFeatureRdma) == 0) return RdmaState::off(rdma_reason::kPeerDoesNotAsk);
  std::string cause;
  return rdma_->addresses(&cause).empty() ? RdmaState::unavailable(cause) : wish;
}

// Throws if the peer is gone or broke the rules, or where this process lacks something.
StreamCarrier SessionHost::upgrade(IncomingConnection& incoming, Session& session, const Secret& secret,
                                   std::uint64_t features, StripeGroup& stripes, const std::string& with) {
  const Hello& hello = incoming.hello;
  const Secret key = rdma_key({hello.session, epoch_, secret}, hello.role, hello.features, features);
  const auto join = [&stripes](std::unique_ptr<Connection> first) { return stripes.join(std::move(first)); };
  StreamCarrier carrier = upgrade_bulk(std::move(incoming.connection), incoming.from,
                                       {BulkEnd::Side::kAccepts,
                                        features,
                                        session.window(),
                                        join,
                                        key,
                                        rdma_,
                                        {},
                                        rdma_wish_for(hello, session),
                                        log_rdma(session.id(), with),
                                        hold_locked(session.counters())});
  carrier.connection = limit_rate(std::move(carrier.connection), session.grant().rate_limits());
  return carrier;
}

// Serves a client or a peer that has lost a connection.
void SessionHost::serve_return(IncomingConnection& incoming) {
  const Ref<Session> session = find_session(incoming.hello.session);
  const Role role = incoming.hello.role;
  const unsigned channel = channel_of(incoming.hello.features);
  auto streams = session ? session->streams(role, channel) : std::vector<OpenStream>();
  // The connection may have broken while its stream was being put together. Only a stream that can exist is waited for,
  // because the peer has proved nothing yet and must not disturb others.
  const bool is_ended = session && !session->lifetime().end_reason().empty();
  if (is_ended) streams.clear();
  const bool can_be = session && !is_ended && (role != Role::kBulk || session->channels().find(channel) != nullptr);
  if (can_be && streams.empty()) {
    session->stripes().settle(incoming.deadline);
    streams = session->streams(role, channel);
  }
  if (streams.empty()) {
    return refuse(*incoming.connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession,
                  what_became_of(session.get(), incoming.hello.session));
  }
  std::vector<Secret> secrets;
  secrets.reserve(streams.size());
  for (const OpenStream& stream : streams) secrets.push_back(stream.secret);
  const unsigned channels = role == Role::kBulk ? session->channels().count() : 1;
  const std::uint64_t features = kFeatureResume | taken_stripes(incoming.hello, channels);
  const auto back = readmit(*incoming.connection, incoming.hello, epoch_, secrets, features, incoming.deadline);
  if (!back) return;
  incoming.handshake_slot.leave_proved();
  ResumableConnection& stream = *streams[back->secret].connection;
  if (const std::string why = stream.reason(); !why.empty()) {
    return refuse(*incoming.connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession, why);
  }
  const ResumableConnection::Attempt attempt = stream.detach();
  if (const auto fit = stream.fit(back->received); fit != ResumableConnection::Fit::kFits) {
    const bool is_late = fit == ResumableConnection::Fit::kOutdated;  // the stream may have moved on since
    refuse(*incoming.connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession,
           is_late ? "this side says that it has received less than it has acknowledged"
                   : "this side says that it has received more than was sent; the session, or link, ends here");
    // Only after the refusal, because ending the stream may end the session and its process.
    if (!is_late) stream.end("the other side says that it has received more than was sent");
    return;
  }
  StripeGroup stripes(session->stripes(), stripes_of(features), back->stripes_key);
  welcome_back(*incoming.connection, epoch_, incoming.hello, *back, features, attempt.received);
  auto connection = limit_rate(stripes.join(std::move(incoming.connection)), session->grant().rate_limits());
  if (!stream.resume(attempt, std::move(connection), back->received)) return;
  const LogScope scope(session->id());
  log_info("goes on over another connection");
}

// Serves one more connection of a stream that is being put together.
void SessionHost::serve_stripe(IncomingConnection& incoming) {
  incoming.handshake_slot.leave();
  const std::shared_ptr<Connection> connection = std::move(incoming.connection);
  const Ref<Session> session = find_session(incoming.hello.session);
  if (const auto key = session ? session->stripes().add(incoming.hello, connection) : std::nullopt) {
    return welcome(*connection, epoch_, incoming.hello, *key, incoming.hello.features);
  }
  refuse(*connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession,
         "there is no such session, or it expects no such connection");
}

void SessionHost::serve_peer(IncomingConnection& incoming) {
  const Hello& hello = incoming.hello;
  const Ref<Session> session = find_session(hello.session);
  // Waits for the invitation: the client informs both servers of a link at the same time, and the other one
  // may be faster.
  const auto invited = session ? session->peers().find(hello, incoming.deadline) : std::nullopt;
  if (!invited) {
    return refuse(*incoming.connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession,
                  "there is no such session, or it expects no such peer");
  }
  incoming.handshake_slot.leave_proved();
  const std::uint64_t possible =
      hello.role == Role::kPeerBulk ? possible_features(incoming, *session) : kFeatureResumable;
  const std::uint64_t features = (hello.features & possible) | taken_stripes(hello);
  StripeGroup stripes(session->stripes(), stripes_of(features),
                      stripes_key({hello.session, epoch_, invited->secret}, hello.role, hello.features, features));
  welcome(*incoming.connection, epoch_, hello, invited->secret, features);
  const LogScope scope(session->id());
  StreamCarrier carrier =
      upgrade(incoming, *session, invited->secret, features, stripes, "peer " + std::to_string(invited->peer));
  session->peers().attach(*invited, hello.role, std::move(carrier), incoming.from);
}

void SessionHost::serve_bulk(IncomingConnection& incoming) {
  const Hello& hello = incoming.hello;
  const Ref<Session> session = find_session(hello.session);
  if (!session || !same_secret(connecting_proof(session->secret(), hello), hello.secret)) {
    const std::string why = session ? "" : why_ended(hello.session);
    return refuse(*incoming.connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession,
                  why.empty() ? "there is no such session, or the secret is wrong" : why);
  }
  incoming.handshake_slot.leave_proved();
  const unsigned number = channel_of(hello.features);
  BulkChannel* const channel = session->channels().find(number);
  if (channel == nullptr || !channel->claim()) {
    return refuse(*incoming.connection, Refusal::kBusy, WelcomeStatus::kBusy,
                  format_text("the session has {} bulk channel{}, and {} {}", session->channels().count(),
                              session->channels().count() == 1 ? "" : "s", number,
                              channel == nullptr ? "is none of them" : "has its connection already"));
  }
  if (number == 0) session->channels().use(channel_count_of(hello.features));
  const std::uint64_t features = (hello.features & possible_features(incoming, *session)) |
                                 taken_stripes(hello, session->channels().count()) |
                                 (number == 0 ? features_of_channel_count(session->channels().count()) : 0);
  StripeGroup stripes(session->stripes(), stripes_of(features),
                      stripes_key({hello.session, epoch_, session->secret()}, hello.role, hello.features, features));
  welcome(*incoming.connection, epoch_, hello, session->secret(), features);
  try {
    if (!channel->attach(upgrade(incoming, *session, session->secret(), features, stripes, "the client"))) return;
  } catch (const std::exception& error) {
    const LogScope scope(session->id());
    log_warning("{}", error.what());
    if (number != 0) return channel->leave();  // the client retries further channels
    return session->close("the bulk connection was lost: " + words_of(error));
  }
  stripes.leave();
  channel->run();
}

}  // namespace remotecl::server
