#pragma once

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"

namespace remotecl::server {

// What the kernels of two servers have together over one link. Shared by the link and the session's arguments; any
// thread.
class LinkArguments : public RefCounted {
 public:
  // The peer's messages. Throw ProtocolError.
  virtual void take(const ConnectName& message) = 0;
  virtual void take(const NameReply& message) = 0;
  virtual void take(const PipeData& message) = 0;
  virtual void take(const PipeCredit& message) = 0;
  virtual void take(const PipeEnd& message) = 0;
  // The link is lost. Nothing is sent any more, so the outbox may go.
  virtual void close() = 0;
};

}  // namespace remotecl::server
