// Serving clients without a session.
#include <unistd.h>

#include "runtime/transport/tcp/peer_user.h"
#include "server/daemon/server.h"
#include "server/util/error_words.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

constexpr std::string_view kKicked =
    "this session was ended by hand (remotecl kick); ask whoever runs the server why, and start the program again";
constexpr std::string_view kWhoMayKick =
    "only an operator may end others' sessions: log in to the server's machine as the user that the server runs as, or "
    "as root, and name the server there as 127.0.0.1 with its port; or have whoever runs it write operator = true for "
    "the user of your token (--limits)";
constexpr std::string_view kStillBusy =
    "its client has been told, but a command or a build of it goes on on the server, and keeps what the session had "
    "until it ends; where it never does, start the server anew. A server with --isolate would have ended its process";

StoreStatus status_of(const Store& store) {
  const Store::Counts counts = store.counts();
  return {counts.entries, counts.bytes, counts.hits, counts.misses, counts.hit_bytes, counts.failed + counts.damaged};
}

std::vector<StoreStatus> stores_of(Store* store) {
  if (store == nullptr) return {};
  std::vector<StoreStatus> stores{status_of(*store)};
  if (store->uploads() != nullptr) stores.push_back(status_of(*store->uploads()));
  return stores;
}

// An operator is a user that is configured as one or, at the operators' socket, who could end the daemon's process.
// Nothing else about a connection says whose it is: the daemon itself and others make connections for sessions.
bool is_operator(const Connection& connection, const User& user) {
  if (user.limits().is_operator.value_or(false)) return true;
  const std::optional<uid_t> who = tcp::peer_user(connection);
  return who && (*who == 0 || *who == ::geteuid());
}

}  // namespace

void Server::serve_monitor(IncomingConnection& incoming) {
  Connection& connection = *incoming.connection;
  const auto users = this->users();
  const auto admission = admit(connection, incoming.hello, epoch_, users->tokens(), incoming.deadline, refusals_);
  if (!admission) return;
  bool is_taken = false;
  {
    MutexLock lock(mutex_);
    if (stopping_) return;
    is_taken = monitors_.size() < kMonitorsMax && monitors_.insert(&connection).second;
  }
  incoming.handshake_slot.leave_proved();
  if (!is_taken) {
    return refuse(connection, Refusal::kBusy, WelcomeStatus::kBusy, "too many monitors look at this server");
  }
  std::string last_words;
  try {
    welcome(connection, epoch_, *admission);
    answer_monitor(connection, incoming.from, *users->owner_of(admission->token));
  } catch (const std::exception& error) {
    last_words = words_of(error);
  }
  forget_monitor(connection);
  if (last_words.empty()) return;
  ByteBuffer bytes;
  append_message(bytes, SessionError{last_words});
  connection.try_write(bytes.bytes());
}

void Server::forget_monitor(Connection& connection) {
  MutexLock lock(mutex_);
  monitors_.erase(&connection);
}

// A client without a session may ask for the status and, if it is entitled to, end sessions.
void Server::answer_monitor(Connection& connection, const Address& from, const User& user) {
  std::array<std::byte, kMessageHeaderSize> header_bytes;
  std::array<std::byte, sizeof(Token) + sizeof(std::uint64_t)> buffer;
  const Viewer viewer{is_operator(connection, user), user.name(), from};
  while (connection.read_exactly(header_bytes)) {
    const auto header = decode_frame<MessageHeader>(header_bytes);
    const bool kicks = header.code == Code::kKickSession;
    if (!kicks && header.code != Code::kGetStatus) {
      throw ProtocolError("a monitor sent message code " + std::to_string(header.code) +
                          "; it may only ask for status, and end sessions");
    }
    const MutableBytes bytes = MutableBytes(buffer).first(kicks ? buffer.size() : sizeof(Token));
    if (header.size != bytes.size()) {
      throw ProtocolError("a " + std::string(message_name(header.code)) + " message is malformed");
    }
    if (!connection.read_exactly(bytes)) return;
    if (kicks) {
      KickSession question{};
      Decoder(bytes).read(question);
      if (!answer_kick(connection, question, user, viewer.is_operator)) return;
      continue;
    }
    StatusReport report = host_->report(viewer, LoadSampler::kPatience);
    report.stores = stores_of(store_);
    GetStatus question{};
    Decoder(bytes).read(question);
    if (!connection.write(encode_status(question.token, identity_, driver_, report))) return;
  }
}

// An operator may end any session. A user with a token of their own may end the sessions of that token.
bool Server::answer_kick(Connection& connection, const KickSession& question, const User& user, bool is_operator) {
  SessionKicked answer{question.token, KickResult::kRefused, kWhoMayKick};
  if (is_operator || user.is_one_person()) {
    answer.result = host_->kick(question.session, is_operator ? nullptr : &user, std::string(kKicked));
    answer.text = answer.result == KickResult::kEnding ? kStillBusy : "";
    const LogScope scope(question.session);
    if (answer.result != KickResult::kUnknown)
      log_info("was ended by {} (remotecl kick)", is_operator ? "an operator" : user.name());
  }
  ByteBuffer bytes;
  append_message(bytes, answer);
  return connection.write(bytes.bytes());
}

}  // namespace remotecl::server
