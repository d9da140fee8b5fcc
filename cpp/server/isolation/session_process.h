#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/admission/peer_rules.h"
#include "server/arguments/argument_provider.h"
#include "server/driver/device_selection.h"
#include "server/isolation/containment.h"

namespace remotecl::server {

// Makes the provider of a session's process, whose kernels have something opened by this function.
using ProvideArguments = std::function<std::unique_ptr<ArgumentProvider>(OpenForKernel open)>;

// The main function of a process that serves one session: contains itself, opens the drivers of these
// devices, waits on its channel for a session, serves it, and ends. `has_store`: whether the daemon has a store.
// `containment` says whether kernels have sockets, `provide` makes what they are. `rdma`: the address where it accepts
// RDMA channels; empty: it accepts none. Returns the process's exit code, if it returns at all.
int run_session_process(const DeviceSelection& devices, const Containment& containment, const PeerRules& peers,
                        bool has_store, const std::string& rdma, const ProvideArguments& provide);

}  // namespace remotecl::server
