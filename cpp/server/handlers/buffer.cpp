#include <string>
#include <utility>

#include "server/handlers/handlers.h"
#include "server/handlers/svm.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

std::string in_use(ObjectId id) { return "buffer id " + std::to_string(id) + " cannot be used or is in use"; }

}  // namespace

void handle(Session& session, const CreateBuffer& message) {
  if (session.objects().provided.arguments.find(message.buffer) != nullptr ||
      !session.objects().buffers.insert(message.buffer,
                                        make_ref<Buffer>(message.flags, message.size, session.counters()))) {
    throw ProtocolError(in_use(message.buffer));
  }
}

void handle(Session& session, const CreateSubBuffer& message) {
  Ref<Buffer> parent(session.objects().buffers.find(message.parent));
  // If the range is outside of the parent, no buffer is created; commands that name it will fail.
  if (!parent || !parent->contains(message.offset, message.size)) return;
  auto buffer = make_ref<Buffer>(parent, message.flags, message.offset, message.size);
  if (session.objects().provided.arguments.find(message.buffer) != nullptr ||
      !session.objects().buffers.insert(message.buffer, std::move(buffer)))
    throw ProtocolError(in_use(message.buffer));
}

void handle(Session& session, const ReleaseBuffer& message) {
  Ref<Buffer> buffer = session.objects().buffers.take(message.buffer);
  if (buffer && buffer->svm() != nullptr) release_svm(session, buffer);
  // Its destructor may wait for threads, which this thread must not do, so another one destroys it.
  if (Ref<ProvidedArgument> argument = session.objects().provided.arguments.take(message.buffer)) {
    session.post([kept = std::move(argument)] {});
  }
  ++session.objects().released_arguments;
}

}  // namespace remotecl::server
