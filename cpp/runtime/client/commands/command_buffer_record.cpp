// The commands that can be recorded into a command buffer, and the bytes that it reads and writes.
#include "runtime/client/commands/command_buffer.h"

#include <algorithm>

#include "runtime/client/commands/device_plans.h"
#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

// The recording is sent in one message.
constexpr std::size_t kRecordingSizeMax = kMessageSizeMax - (1u << 20);
constexpr std::size_t kRecordSizeExtra = 16;  // overhead of each command

}  // namespace

// Collects the memory that a plan names.
struct CommandBuffer::NamedUses {
  std::vector<std::pair<MemoryObject*, ByteRange>> read{}, written{};
  std::vector<MemoryObject*> networks{};

  void reads(MemoryObject& memory, ByteRange range) { read.emplace_back(&memory, range); }
  void writes(MemoryObject& memory, ByteRange range) { written.emplace_back(&memory, range); }
  void has_network(MemoryObject& network) { networks.push_back(&network); }

  // Why commands of this device cannot use that memory, or CL_SUCCESS.
  cl_int objection(const Device& device) const {
    const auto is_network = [](const auto& part) { return part.first->network_device() != nullptr; };
    if (std::any_of(read.begin(), read.end(), is_network) || std::any_of(written.begin(), written.end(), is_network)) {
      return CL_INVALID_OPERATION;
    }
    const auto is_here = [&device](const MemoryObject* network) { return network->network_device() == &device; };
    return std::all_of(networks.begin(), networks.end(), is_here) ? CL_SUCCESS : CL_INVALID_MEM_OBJECT;
  }
};

template <class Message>
cl_int CommandBuffer::append(Message message, SyncPoints wait, cl_sync_point_khr* sync_point) {
  const std::vector<EventId> positions(wait.begin(), wait.end());
  message.event = records_.size() + 1;
  message.wait_list = std::span<const EventId>(positions);
  const std::size_t size = wire::encoded_size(message);
  const std::size_t with_it = recording_.size() + size + kRecordSizeExtra * (records_.size() + 1);
  if (with_it > kRecordingSizeMax) return CL_OUT_OF_RESOURCES;
  records_.push_back({Message::kCode, recording_.size(), size});
  std::byte* at = recording_.extend(size);
  wire::encode(at, message);
  if (sync_point != nullptr) *sync_point = static_cast<cl_sync_point_khr>(records_.size());
  return CL_SUCCESS;
}

CommandBuffer::Access& CommandBuffer::access(MemoryObject& buffer) {
  buffers_.try_emplace(&buffer, Ref<MemoryObject>(&buffer));
  Access& access = accesses_[&buffer.root()];
  if (!access.root) access.root = Ref<MemoryObject>(&buffer.root());
  return access;
}

template <class Message>
cl_int CommandBuffer::record(const NamedUses& uses, Message message, SyncPoints wait, cl_sync_point_khr* sync_point) {
  if (recording_ended_) return CL_INVALID_OPERATION;
  if (const cl_int error = uses.objection(queue_->device()); error != CL_SUCCESS) return error;
  if (const cl_int error = append(message, wait, sync_point); error != CL_SUCCESS) return error;
  for (MemoryObject* network : uses.networks) buffers_.try_emplace(network, Ref<MemoryObject>(network));
  // Reads are recorded before writes, because a kernel may read through one argument what it writes through
  // another.
  for (const auto& [memory, range] : uses.read) {
    Access& to = access(*memory);
    to.writes.for_each_missing(range, [&to](ByteRange part) { to.reads.add(part); });
  }
  for (const auto& [memory, range] : uses.written) access(*memory).writes.add(range);
  return CL_SUCCESS;
}

template <class Plan>
cl_int CommandBuffer::record(const Plan& plan, SyncPoints wait, cl_sync_point_khr* sync_point) {
  const MutexLock memory_lock(queue_->context().memory_mutex());
  const MutexLock lock(mutex_);
  NamedUses uses;
  plan.uses(uses);
  return record(uses, plan.message(), wait, sync_point);
}

cl_int CommandBuffer::record_kernel(Kernel& kernel, const NDRange& range, SyncPoints wait,
                                    cl_sync_point_khr* sync_point) {
  const MutexLock memory_lock(queue_->context().memory_mutex());
  const MutexLock lock(mutex_);
  const KernelPlan plan{{}, CL_COMMAND_NDRANGE_KERNEL, kernel, range};
  const MutexLock kernel_lock(plan.kernel.mutex());
  const auto& arguments = plan.kernel.arguments();
  std::vector<KernelArgument> all;
  all.reserve(arguments.size());
  for (const Kernel::Argument& argument : arguments) {
    all.push_back(encode_argument(static_cast<std::uint32_t>(all.size()), argument));
  }
  NamedUses uses;
  plan.uses(uses);
  const cl_int error = record(uses, plan.message(all), wait, sync_point);
  if (error != CL_SUCCESS) return error;
  kernels_.try_emplace(&kernel, Ref<Kernel>(&kernel));
  for (const Kernel::Argument& argument : arguments) {
    if (Sampler* sampler = argument.sampler.get()) samplers_.try_emplace(sampler, argument.sampler);
  }
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_copy(MemoryObject& source, MemoryObject& destination, std::uint64_t source_offset,
                                  std::uint64_t destination_offset, std::uint64_t size, SyncPoints wait,
                                  cl_sync_point_khr* sync_point) {
  const CopyPlan plan{{}, CL_COMMAND_COPY_BUFFER, source, destination, source_offset, destination_offset, size};
  return record(plan, wait, sync_point);
}

cl_int CommandBuffer::record_copy_rect(MemoryObject& source, MemoryObject& destination,
                                       const Rectangle& source_rectangle, const Rectangle& destination_rectangle,
                                       const Extent& region, SyncPoints wait, cl_sync_point_khr* sync_point) {
  const CopyRectPlan plan{
      {}, CL_COMMAND_COPY_BUFFER_RECT, source, destination, source_rectangle, destination_rectangle, region};
  return record(plan, wait, sync_point);
}

cl_int CommandBuffer::record_fill(MemoryObject& buffer, Bytes pattern, std::uint64_t offset, std::uint64_t size,
                                  SyncPoints wait, cl_sync_point_khr* sync_point) {
  return record(FillPlan{{}, CL_COMMAND_FILL_BUFFER, buffer, pattern, offset, size}, wait, sync_point);
}

cl_int CommandBuffer::record_copy_image(MemoryObject& source, MemoryObject& destination, const Extent& source_origin,
                                        const Extent& destination_origin, const Extent& region, SyncPoints wait,
                                        cl_sync_point_khr* sync_point) {
  return record(CopyImagePlan{{}, source, destination, source_origin, destination_origin, region}, wait, sync_point);
}

cl_int CommandBuffer::record_fill_image(MemoryObject& image, const std::array<std::uint32_t, 4>& color,
                                        const Extent& origin, const Extent& region, SyncPoints wait,
                                        cl_sync_point_khr* sync_point) {
  return record(FillImagePlan{{}, image, color, origin, region}, wait, sync_point);
}

cl_int CommandBuffer::record_copy_pixels(MemoryObject& image, MemoryObject& buffer, bool to_buffer,
                                         const Extent& origin, const Extent& region, std::uint64_t offset,
                                         SyncPoints wait, cl_sync_point_khr* sync_point) {
  return record(CopyPixelsPlan{{}, to_buffer, image, buffer, origin, region, offset}, wait, sync_point);
}

cl_int CommandBuffer::record_point(bool is_barrier, SyncPoints wait, cl_sync_point_khr* sync_point) {
  const MutexLock lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  const bool waits_for_all = is_barrier && wait.empty();
  return append(EnqueueMarker{0, 0, is_barrier ? 1u : 0u, waits_for_all ? 1u : 0u, {}}, wait, sync_point);
}

}  // namespace remotecl
