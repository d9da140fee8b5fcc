#include "extras/kernel_sockets/server/session_kernel_sockets.h"

#include <algorithm>
#include <string>

#include "extras/kernel_sockets/server/link_pipes.h"
#include "extras/kernel_sockets/server/session_socket_account.h"

namespace remotecl::server {
namespace {

std::string words_for(cl_int error) {
  if (error == CL_INVALID_VALUE) {
    return "a network has 1 to " + std::to_string(SpaceShape::kSocketsMax) + " sockets with rings of " +
           std::to_string(SpaceShape::kRingBytesMin) + " to " + std::to_string(SpaceShape::kRingBytesMax) +
           " bytes, a power of two, and " + std::to_string(SpaceShape::kMemoryMax >> 30) + " GiB of rings in all";
  }
  if (error == CL_INVALID_OPERATION) {
    return "kernels of this device and its host do not see the same memory while a kernel runs; use a CPU device or a "
           "GPU whose driver has such memory (docs/kernel-sockets.md)";
  }
  if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE) {
    return "there is not as much memory as the rings need, or the session or its user may not have it; ask for fewer "
           "sockets or smaller rings";
  }
  return "the driver refuses the memory for the rings with error " + std::to_string(error);
}

// 0: a network's default.
std::uint32_t threads_max(const Grant& grant) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(grant.kernel_threads_max().value_or(0), SpaceThreads::kMost));
}

}  // namespace

SessionArguments::Made SessionKernelSockets::make(const CreateNetwork& wanted, Device& device) {
  const SpaceShape shape{wanted.sockets, wanted.ring_bytes};
  if (!shape.is_valid()) return {nullptr, 0, CL_INVALID_VALUE, words_for(CL_INVALID_VALUE)};
  const auto network = make_ref<SpaceArgument>(
      device, shape,
      KernelSocketSpace::Hooks{brokers_(grant_, session_), make_ref<SessionSocketAccount>(grant_), names_,
                               SpaceThreads{.most = threads_max(grant_)}, remote_names_},
      live_, counters_);
  cl_mem memory = nullptr;
  session_lock.assume_held();  // nobody else has the network yet
  const cl_int error = network->native(device, memory);
  if (error != CL_SUCCESS) return {nullptr, 0, error, words_for(error)};
  return {network, shape.memory_size(), CL_SUCCESS, ""};
}

Ref<LinkArguments> SessionKernelSockets::link(Outbox& outbox) { return make_ref<LinkPipes>(outbox, names_, counters_); }

void SessionKernelSockets::linked(PeerId peer, const Ref<LinkArguments>& link) {
  remote_names_->linked(peer, Ref<LinkPipes>(&static_cast<LinkPipes&>(*link)));  // link() has made it
}

}  // namespace remotecl::server
