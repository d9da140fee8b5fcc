#include "server/handlers/dispatch.h"

#include <memory>
#include <string>
#include <utility>

#include "server/handlers/handlers.h"
#include "server/transfer/held_payload.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Flattened: a call for each field would cost more than the field.
template <class Message>
[[gnu::flatten]] Message decode(Bytes payload) {
  Message message{};
  Decoder decoder(payload);
  if (!decoder.read(message) || !decoder.at_end()) {
    throw ProtocolError("a " + std::string(message_name(Message::kCode)) + " message is malformed");
  }
  return message;
}

template <class Message>
void kInline(Session& session, Bytes payload) REQUIRES(session_lock) {
  handle(session, decode<Message>(payload));
}

template <class Message>
void kWorker(Session& session, Bytes payload) REQUIRES(session_lock) {
  ProgramWork named = work_of(session, decode<Message>(payload));
  auto copy = std::make_shared<HeldPayload>(session.counters(), payload);
  session.builder().post(
      [&session, named = std::move(named), copy] { work(session, decode<Message>(copy->bytes()), named); });
}

constexpr HandlerTable make_table() {
  HandlerTable table{};
#define REMOTECL_COMMAND(name, number, thread) table[number] = &thread<name>;
#define REMOTECL_REPORT(name, number)
#define REMOTECL_PEER_MESSAGE(name, number)
#include "runtime/protocol/commands.def"
  return table;
}

constexpr HandlerTable kTable = make_table();

}  // namespace

const HandlerTable& handler_table() { return kTable; }

}  // namespace remotecl::server
