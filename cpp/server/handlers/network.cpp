#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "server/handlers/handlers.h"
#include "server/handlers/networks.h"
#include "server/sockets/session_socket_account.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Each network has at least one thread.
constexpr std::size_t kNetworksMax = 64;

std::string words_for(cl_int error) {
  if (error == CL_INVALID_VALUE) {
    return "a network has 1 to " + std::to_string(NetworkShape::kSocketsMax) + " sockets with rings of " +
           std::to_string(NetworkShape::kRingBytesMin) + " to " + std::to_string(NetworkShape::kRingBytesMax) +
           " bytes, a power of two, and " + std::to_string(NetworkShape::kMemoryMax >> 30) + " GiB of rings in all";
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
      std::min<std::uint64_t>(grant.kernel_threads_max().value_or(0), NetworkThreads::kMost));
}

void check_network_id(const SessionObjects& objects, ObjectId id) REQUIRES(session_lock) {
  if (id == 0 || objects.buffers.find(id) != nullptr || objects.networks.arguments.find(id) != nullptr) {
    throw ProtocolError("network id " + std::to_string(id) + " cannot be used or is in use");
  }
}

// A network without memory yet.
cl_int create(Session& session, const CreateNetwork& message, Device& device, Ref<NetworkArgument>& network,
              std::string& words) REQUIRES(session_lock) {
  SessionObjects& objects = session.objects();
  const MakeSocketBroker& sockets = session.shared().sockets;
  if (!sockets) {
    words = "the server does not allow sockets inside kernels; whoever runs it can start it with --kernel-sockets";
    return CL_INVALID_OPERATION;
  }
  if (&device != &device.root()) {
    words = "a sub-device has no networks; make one for the device that it is a part of";
    return CL_INVALID_OPERATION;
  }
  if (objects.networks.arguments.size() + objects.networks.being_made >= kNetworksMax) {
    words = "the session has " + std::to_string(kNetworksMax) + " networks; release one, or make one with more sockets";
    return CL_OUT_OF_RESOURCES;
  }
  const NetworkShape shape{message.sockets, message.ring_bytes};
  const Network::Hooks hooks{sockets(session.grant(), session.id()), make_ref<SessionSocketAccount>(session.grant()),
                             objects.networks.names, NetworkThreads{.most = threads_max(session.grant())},
                             session.peers().names()};
  if (!shape.is_valid()) {
    words = words_for(CL_INVALID_VALUE);
    return CL_INVALID_VALUE;
  }
  network = make_ref<NetworkArgument>(device, shape, hooks, objects.networks.live, session.counters());
  return CL_SUCCESS;
}

void add_network(Session& session, ObjectId id, const Ref<NetworkArgument>& network) REQUIRES(session_lock) {
  SessionObjects& objects = session.objects();
  check_network_id(objects, id);  // a buffer may have got it meanwhile
  objects.networks.arguments.insert(id, network);
  objects.networks.has_had_some = true;
  session.shared().watch.look_again();
}

void answer_network(Session& session, const CreateNetwork& message, cl_int error, const std::string& words) {
  const NetworkShape shape{message.sockets, message.ring_bytes};
  session.outbox().add(NetworkCreated{message.token, error, error == CL_SUCCESS ? shape.memory_size() : 0, words});
}

// Makes the memory, without the session's lock, because the driver may take long.
void make_network(Session& session, const CreateNetwork& message, Device& device, const Ref<NetworkArgument>& network) {
  cl_mem memory = nullptr;
  const cl_int error = [&] {
    session_lock.assume_held();  // nobody else has the network yet
    return network->native(device, memory);
  }();
  session.with_lock([&]() REQUIRES(session_lock) {
    --session.objects().networks.being_made;
    if (error == CL_SUCCESS) add_network(session, message.buffer, network);
    answer_network(session, message, error, error == CL_SUCCESS ? "" : words_for(error));
  });
}

}  // namespace

NetworkArguments networks_of(const SessionObjects& objects, const DeviceKernel& kernel) {
  NetworkArguments networks;
  if (objects.networks.arguments.size() == 0) return networks;
  for (const StoredArgument& argument : kernel.arguments) {
    if (!argument.is_set() || argument.kind() != ArgumentKind::kMemory) continue;
    if (Ref<NetworkArgument> network{objects.networks.arguments.find(argument.number())})
      networks.push_back(std::move(network));
  }
  return networks;
}

NetworkArguments networks_of(const SessionObjects& objects, const CommandBuffer& commands) {
  NetworkArguments networks;
  if (!objects.networks.has_had_some) return networks;
  commands.for_each_argument([&networks](const Ref<Memory>& memory) {
    if (auto* network = dynamic_cast<NetworkArgument*>(memory.get())) networks.emplace_back(network);
  });
  return networks;
}

void handle(Session& session, const CreateNetwork& message) {
  check_network_id(session.objects(), message.buffer);
  Device& device = session.objects().device(message.device);
  std::string words;
  Ref<NetworkArgument> network;
  const cl_int error = create(session, message, device, network, words);
  if (error != CL_SUCCESS) return answer_network(session, message, error, words);
  ++session.objects().networks.being_made;
  session.transfers().post([&session, message, &device, network = std::move(network)] {
    const LogScope scope(session.id());
    try {
      make_network(session, message, device, network);
    } catch (const std::exception& failure) {
      session.close(failure.what());
    }
  });
}

void handle(Session& session, const StopNetwork& message) {
  if (const NetworkArgument* network = session.objects().networks.arguments.find(message.buffer))
    network->network()->stop();
}

}  // namespace remotecl::server
