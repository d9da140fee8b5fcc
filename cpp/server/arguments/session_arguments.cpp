#include "server/arguments/session_arguments.h"

#include <cerrno>

#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Another server of the session may have kernels that look for names here.
class NoLinkArguments final : public LinkArguments {
 public:
  explicit NoLinkArguments(Outbox& outbox) : outbox_(outbox) {}

  void take(const ConnectName& message) override { outbox_.send(NameReply{message.pipe, ENOENT, 0, 0}); }
  void take(const NameReply&) override { refuse(); }
  void take(const PipeData&) override { refuse(); }
  void take(const PipeCredit&) override { refuse(); }
  void take(const PipeEnd&) override { refuse(); }
  void close() override {}

 private:
  [[noreturn]] static void refuse() { throw ProtocolError("a peer speaks of connections of kernels, which have none"); }

  Outbox& outbox_;
};

}  // namespace

SessionArguments::Made SessionArguments::make(const CreateNetwork&, Device&) {
  return {nullptr, 0, CL_INVALID_OPERATION,
          "the server does not allow sockets inside kernels; whoever runs it can start it with --kernel-sockets"};
}

Ref<LinkArguments> SessionArguments::link(Outbox& outbox) { return make_ref<NoLinkArguments>(outbox); }

}  // namespace remotecl::server
