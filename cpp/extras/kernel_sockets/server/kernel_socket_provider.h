#pragma once

#include <utility>

#include "extras/kernel_sockets/server/session_kernel_sockets.h"
#include "server/arguments/argument_provider.h"

namespace remotecl::server {

// Provides sockets inside kernels.
class KernelSocketProvider final : public ArgumentProvider {
 public:
  // Without brokers, sessions have no sockets, only the header.
  explicit KernelSocketProvider(MakeSocketBroker brokers) : brokers_(std::move(brokers)) {}

  Header header() const override;
  bool serves(Device& device) const override;
  Ref<SessionArguments> begin(const Grant& grant, std::uint64_t session,
                              const Ref<SessionCounters>& counters) const override;
  OpenForKernel opener(const Grant& grant, std::uint64_t session) const override;

 private:
  const MakeSocketBroker brokers_;
};

}  // namespace remotecl::server
