#include "server/network/network.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "server/network/layout.h"
#include "server/network/network_memory.h"
#include "server/network/proxy.h"
#include "server/network/rings.h"

namespace remotecl::server {
namespace {

void write_header(std::byte* memory, const NetworkShape& shape) {
  const NetworkLayout layout(shape);
  store_shared(memory + layout::kSocketsAt, shape.sockets);
  store_shared(memory + layout::kRingBytesAt, shape.ring_bytes);
  store_shared(memory + layout::kClaimsAt, layout.claims);
  store_shared(memory + layout::kRequestsAt, layout.requests);
  store_shared(memory + layout::kSendTailsAt, layout.send_tails);
  store_shared(memory + layout::kReceiveHeadsAt, layout.receive_heads);
  store_shared(memory + layout::kLinesAt, layout.lines);
  store_shared(memory + layout::kAreasAt, layout.areas);
  store_shared(memory + layout::kRingsAt, layout.rings);
  store_shared(memory + layout::kMagicAt, layout::kMagic);
}

}  // namespace

std::uint32_t NetworkThreads::bound() const {
  if (most != 0) return std::min(most, kMost);
  return std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

bool Network::works_on(Device& device) { return NetworkMemory::works_on(device); }

Ref<Network> Network::make(Device& device, const NetworkShape& shape, Hooks hooks, cl_int& error) {
  error = CL_INVALID_VALUE;
  if (!shape.is_valid()) return nullptr;
  error = CL_INVALID_OPERATION;
  if (!works_on(device)) return nullptr;
  std::unique_ptr<NetworkMemory> memory = NetworkMemory::make(device, shape.memory_size(), error);
  if (!memory) return nullptr;
  if (!hooks.account) hooks.account = make_ref<SocketAccount>();
  if (!hooks.names) hooks.names = make_ref<KernelNames>();
  try {
    return Ref<Network>::adopt(new Network(shape, std::move(memory), hooks));
  } catch (const std::system_error&) {
    error = CL_OUT_OF_HOST_MEMORY;
    return nullptr;
  }
}

Network::Network(const NetworkShape& shape, std::unique_ptr<NetworkMemory> memory, const Hooks& hooks)
    : shape_(shape), memory_(std::move(memory)) {
  write_header(memory_->data(), shape_);
  proxy_ = std::make_unique<Proxy>(memory_->data(), shape_, hooks);
}

Network::~Network() = default;

cl_mem Network::memory() const { return memory_->buffer(); }
void Network::kernel_begins() { proxy_->kernel_begins(); }
void Network::kernel_ended() { proxy_->kernel_ended(); }
void Network::stop() { proxy_->stop(); }
NetworkStats Network::stats() const { return proxy_->stats(); }

}  // namespace remotecl::server
