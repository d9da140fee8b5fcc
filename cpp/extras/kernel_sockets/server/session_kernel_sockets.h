#pragma once

#include <functional>

#include "extras/kernel_sockets/server/peer_names.h"
#include "extras/kernel_sockets/server/space_argument.h"
#include "extras/kernel_sockets/space/kernel_names.h"
#include "extras/kernel_sockets/space/socket_broker.h"
#include "server/admission/users.h"
#include "server/arguments/session_arguments.h"

namespace remotecl::server {

// Makes the broker that opens the sockets of a session's kernels.
using MakeSocketBroker = std::function<Ref<SocketBroker>(const Grant& grant, std::uint64_t session)>;

// The networks of one session, and the names under which its kernels find each other's sockets.
class SessionKernelSockets final : public SessionArguments {
 public:
  // `brokers` and `grant` outlive the session.
  SessionKernelSockets(const MakeSocketBroker& brokers, const Grant& grant, std::uint64_t session,
                       const Ref<SessionCounters>& counters)
      : brokers_(brokers), grant_(grant), session_(session), counters_(counters) {}

  Made make(const CreateNetwork& wanted, Device& device) override;
  void stop() override { live_->stop(); }
  std::size_t stop_present() override { return live_->stop_present(); }
  bool has_some() const override { return live_->has_some(); }
  std::map<std::uint32_t, SocketStatus> status() const override { return live_->status(); }

  void expect(PeerId peer) override { remote_names_->add(peer); }
  void lost(PeerId peer) override { remote_names_->remove(peer); }
  Ref<LinkArguments> link(Outbox& outbox) override;
  void linked(PeerId peer, const Ref<LinkArguments>& link) override;

 private:
  const MakeSocketBroker& brokers_;
  const Grant& grant_;
  const std::uint64_t session_;
  const Ref<SessionCounters> counters_;
  const Ref<LiveSpaces> live_ = make_ref<LiveSpaces>();
  const Ref<KernelNames> names_ = make_ref<KernelNames>();
  const Ref<PeerNames> remote_names_ = make_ref<PeerNames>();
};

}  // namespace remotecl::server
