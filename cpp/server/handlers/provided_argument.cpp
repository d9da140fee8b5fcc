#include <exception>
#include <string>
#include <utility>

#include "server/handlers/handlers.h"
#include "server/handlers/submit_kernels.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Each may have a thread.
constexpr std::size_t kArgumentsMax = 64;

void check_id(const SessionObjects& objects, ObjectId id) REQUIRES(session_lock) {
  if (id == 0 || objects.buffers.find(id) != nullptr || objects.provided.arguments.find(id) != nullptr) {
    throw ProtocolError("network id " + std::to_string(id) + " cannot be used or is in use");
  }
}

// Why the session may not make another one there; no error if it may.
SessionArguments::Made objection(const ProvidedTable& provided, Device& device) REQUIRES(session_lock) {
  if (&device != &device.root()) {
    return {.error = CL_INVALID_OPERATION,
            .words = "a sub-device has no networks; make one for the device that it is a part of"};
  }
  if (provided.arguments.size() + provided.being_made < kArgumentsMax) return {};
  return {.error = CL_OUT_OF_RESOURCES,
          .words = "the session has " + std::to_string(kArgumentsMax) +
                   " networks; release one, or make one with more sockets"};
}

void answer(Session& session, const CreateNetwork& message, const SessionArguments::Made& made) {
  session.outbox().add(NetworkCreated{message.token, made.error, made.size, made.words});
}

void add(Session& session, ObjectId id, const Ref<ProvidedArgument>& argument) REQUIRES(session_lock) {
  ProvidedTable& provided = session.objects().provided;
  check_id(session.objects(), id);  // a buffer may have got it meanwhile
  provided.arguments.insert(id, argument);
  provided.has_had_some = true;
  session.shared().watch.look_again();
}

// Without the session's lock, because the driver may take long.
void make(Session& session, const CreateNetwork& message, Device& device) {
  const SessionArguments::Made made = session.arguments().make(message, device);
  session.with_lock([&]() REQUIRES(session_lock) {
    --session.objects().provided.being_made;
    if (made.argument) add(session, message.buffer, made.argument);
    answer(session, message, made);
  });
}

}  // namespace

ProvidedArguments provided_for(const SessionObjects& objects, const DeviceKernel& kernel) {
  ProvidedArguments provided;
  if (objects.provided.arguments.size() == 0) return provided;
  for (const StoredArgument& argument : kernel.arguments) {
    if (!argument.is_set() || argument.kind() != ArgumentKind::kMemory) continue;
    if (Ref<ProvidedArgument> found{objects.provided.arguments.find(argument.number())})
      provided.push_back(std::move(found));
  }
  return provided;
}

ProvidedArguments provided_for(const SessionObjects& objects, const CommandBuffer& commands) {
  ProvidedArguments provided;
  if (!objects.provided.has_had_some) return provided;
  commands.for_each_argument([&provided](const Ref<Memory>& memory) {
    if (auto* argument = dynamic_cast<ProvidedArgument*>(memory.get())) provided.emplace_back(argument);
  });
  return provided;
}

void handle(Session& session, const CreateNetwork& message) {
  check_id(session.objects(), message.buffer);
  Device& device = session.objects().device(message.device);
  const SessionArguments::Made refused = objection(session.objects().provided, device);
  if (refused.error != CL_SUCCESS) return answer(session, message, refused);
  ++session.objects().provided.being_made;
  session.transfers().post([&session, message, &device] {
    const LogScope scope(session.id());
    try {
      make(session, message, device);
    } catch (const std::exception& failure) {
      session.close(failure.what());
    }
  });
}

void handle(Session& session, const StopNetwork& message) {
  if (ProvidedArgument* argument = session.objects().provided.arguments.find(message.buffer)) argument->stop();
}

}  // namespace remotecl::server
