#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"
#include "runtime/protocol/messages/user_status.h"
#include "server/arguments/link_arguments.h"
#include "server/arguments/provided_argument.h"
#include "server/util/session_lock.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// The provided arguments of one session, including those that the client has released but kernels still use. This one
// has none. Owned by the session; any thread.
class SessionArguments : public RefCounted {
 public:
  struct Made {
    Ref<ProvidedArgument> argument{};  // null if there was an error
    std::uint64_t size = 0;            // of its memory
    cl_int error = CL_SUCCESS;
    std::string words{};  // why there was an error
  };

  // Makes one, with its memory, for a device that is no sub-device; may take long. Called while the session runs.
  virtual Made make(const CreateNetwork& wanted, Device& device) EXCLUDES(session_lock);
  // Stops all arguments, including later ones. Does not block.
  virtual void stop() {}
  // Stops the arguments that exist now. Returns how many had not been stopped before.
  virtual std::size_t stop_present() { return 0; }
  // Whether any has not been stopped.
  virtual bool has_some() const { return false; }
  // Sums by device, including destroyed arguments.
  virtual std::map<std::uint32_t, SocketStatus> status() const { return {}; }

  // ---- The session's other servers.
  // The client has named a peer; its session is lost.
  virtual void expect(PeerId) {}
  virtual void lost(PeerId) {}
  // Makes the part of a new link.
  virtual Ref<LinkArguments> link(Outbox& outbox);
  // A link that has such a part leads to the peer from now on.
  virtual void linked(PeerId, const Ref<LinkArguments>&) {}
};

}  // namespace remotecl::server
