#include "extras/kernel_sockets/space/kernel_socket_space.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "extras/kernel_sockets/space/layout.h"
#include "extras/kernel_sockets/space/proxy.h"
#include "extras/kernel_sockets/space/rings.h"
#include "extras/kernel_sockets/space/space_memory.h"

namespace remotecl::server {
namespace {

void write_header(std::byte* memory, const SpaceShape& shape) {
  const SpaceLayout layout(shape);
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

std::uint32_t SpaceThreads::bound() const {
  if (most != 0) return std::min(most, kMost);
  return std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

bool KernelSocketSpace::works_on(Device& device) { return SpaceMemory::works_on(device); }

Ref<KernelSocketSpace> KernelSocketSpace::make(Device& device, const SpaceShape& shape, Hooks hooks, cl_int& error) {
  error = CL_INVALID_VALUE;
  if (!shape.is_valid()) return nullptr;
  error = CL_INVALID_OPERATION;
  if (!works_on(device)) return nullptr;
  std::unique_ptr<SpaceMemory> memory = SpaceMemory::make(device, shape.memory_size(), error);
  if (!memory) return nullptr;
  if (!hooks.account) hooks.account = make_ref<SocketAccount>();
  if (!hooks.names) hooks.names = make_ref<KernelNames>();
  try {
    return Ref<KernelSocketSpace>::adopt(new KernelSocketSpace(shape, std::move(memory), hooks));
  } catch (const std::system_error&) {
    error = CL_OUT_OF_HOST_MEMORY;
    return nullptr;
  }
}

KernelSocketSpace::KernelSocketSpace(const SpaceShape& shape, std::unique_ptr<SpaceMemory> memory, const Hooks& hooks)
    : shape_(shape), memory_(std::move(memory)) {
  write_header(memory_->data(), shape_);
  proxy_ = std::make_unique<Proxy>(memory_->data(), shape_, hooks);
}

KernelSocketSpace::~KernelSocketSpace() = default;

cl_mem KernelSocketSpace::memory() const { return memory_->buffer(); }
void KernelSocketSpace::kernel_begins() { proxy_->kernel_begins(); }
void KernelSocketSpace::kernel_ended() { proxy_->kernel_ended(); }
void KernelSocketSpace::stop() { proxy_->stop(); }
SpaceStats KernelSocketSpace::stats() const { return proxy_->stats(); }

}  // namespace remotecl::server
