#pragma once

#include <vector>

#include "runtime/protocol/messages.h"
#include "server/program/program.h"
#include "server/session/session.h"

// The handlers of commands.def. work() runs on the session's worker; work_of() looks up the message's programs
// beforehand, because the client may release them meanwhile.
namespace remotecl::server {

// The program that a message is about, and those that it includes or links.
struct ProgramWork {
  Ref<Program> program;
  std::vector<Ref<Program>> others;
};

template <class Message>
ProgramWork work_of(Session& session, const Message& message) REQUIRES(session_lock) {
  return {session.objects().program(message.program), {}};
}
ProgramWork work_of(Session& session, const CompileProgram& message) REQUIRES(session_lock);
ProgramWork work_of(Session& session, const LinkProgram& message) REQUIRES(session_lock);

// Throws ProtocolError if no peer can have this number.
void check_peer(PeerId peer);

#define REMOTECL_HANDLER_kInline(name) void handle(Session& session, const name& message) REQUIRES(session_lock);
#define REMOTECL_HANDLER_kWorker(name) \
  void work(Session& session, const name& message, const ProgramWork& work) EXCLUDES(session_lock);
#define REMOTECL_COMMAND(name, number, thread) REMOTECL_HANDLER_##thread(name)
#define REMOTECL_REPORT(name, number)
#define REMOTECL_PEER_MESSAGE(name, number)
#include "runtime/protocol/commands.def"
#undef REMOTECL_HANDLER_kInline
#undef REMOTECL_HANDLER_kWorker

}  // namespace remotecl::server
