#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "extras/kernel_sockets/space/inbox.h"
#include "extras/kernel_sockets/space/kernel_socket_space.h"
#include "extras/kernel_sockets/space/layout.h"
#include "extras/kernel_sockets/space/opener.h"

namespace remotecl::server {

// The common part of the lanes of a network. A socket's lane is its index modulo the number of lanes. One thread at a
// time has a lane. Constant; any thread.
struct LaneGroup {
  LaneGroup(std::byte* its_memory, const SpaceShape& its_shape, const KernelSocketSpace::Hooks& its_hooks,
            std::uint32_t lanes)
      : memory(its_memory), shape(its_shape), layout(its_shape), hooks(its_hooks), opener(its_hooks.broker) {
    for (std::uint32_t lane = 0; lane < lanes; ++lane) inboxes.push_back(make_ref<Inbox>());
  }

  // Pipes in unread messages refer to inboxes, which own the messages. Clearing the inboxes breaks these cycles.
  ~LaneGroup() {
    for (const Ref<Inbox>& inbox : inboxes) inbox->clear();
  }
  LaneGroup(const LaneGroup&) = delete;
  LaneGroup& operator=(const LaneGroup&) = delete;

  std::uint32_t size() const { return static_cast<std::uint32_t>(inboxes.size()); }
  // Of a socket's index or number.
  std::uint32_t lane_of(std::uint64_t socket) const { return static_cast<std::uint32_t>(socket) % size(); }

  std::byte* const memory;
  const SpaceShape shape;
  const SpaceLayout layout;
  const KernelSocketSpace::Hooks hooks;
  Opener opener;
  std::vector<Ref<Inbox>> inboxes;
};

}  // namespace remotecl::server
