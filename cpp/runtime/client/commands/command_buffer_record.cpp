// What can be recorded into a command buffer, and which bytes that reads and writes.
#include "runtime/client/commands/command_buffer.h"

#include "runtime/client/commands/image_commands.h"
#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

// The recording travels in one message.
constexpr std::size_t kRecordingSizeMax = kMessageSizeMax - (1u << 20);
constexpr std::size_t kRecordSizeExtra = 16;  // around each command

}  // namespace

template <class Message>
cl_int CommandBuffer::append(Message message, SyncPoints wait, cl_sync_point_khr* sync_point) {
  const std::vector<EventId> places(wait.begin(), wait.end());
  message.event = records_.size() + 1;
  message.wait_list = std::span<const EventId>(places);
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

void CommandBuffer::reads(MemoryObject& buffer, ByteRange range) {
  Access& to = access(buffer);
  to.writes.for_each_missing(range, [&to](ByteRange part) { to.reads.add(part); });
}

void CommandBuffer::writes(MemoryObject& buffer, ByteRange range) { access(buffer).writes.add(range); }

void CommandBuffer::writes_region(MemoryObject& image, const Extent& region) {
  const ByteRange all = image.range(0, image.size());
  if (!overwrites_all(image, region)) reads(image, all);
  writes(image, all);
}

cl_int CommandBuffer::record_kernel(Kernel& kernel, const NDRange& range, SyncPoints wait,
                                    cl_sync_point_khr* sync_point) {
  const MutexLock lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  const MutexLock kernel_lock(kernel.mutex());
  const auto& arguments = kernel.arguments();
  std::vector<KernelArgument> all;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    all.push_back(encode_argument(static_cast<std::uint32_t>(i), arguments[i]));
  }
  const cl_int error = append(EnqueueKernel{0,
                                            0,
                                            kernel.id(),
                                            range.dimensions,
                                            range.has_local ? 1u : 0u,
                                            range.offset,
                                            range.global,
                                            range.local,
                                            std::span<const KernelArgument>(all),
                                            {}},
                              wait, sync_point);
  if (error != CL_SUCCESS) return error;
  kernels_.try_emplace(&kernel, Ref<Kernel>(&kernel));
  // All reads before all writes: a kernel may read through one argument what it writes through another.
  const auto& shared = kernel.svm_memory();
  for (const Kernel::Argument& argument : arguments) {
    if (MemoryObject* memory = argument.memory.get()) reads(*memory, memory->range(0, memory->size()));
    if (Sampler* sampler = argument.sampler.get()) samplers_.try_emplace(sampler, argument.sampler);
  }
  for (const Ref<MemoryObject>& memory : shared) reads(*memory, memory->range(0, memory->size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    MemoryObject* memory = arguments[i].memory.get();
    if (memory != nullptr && kernel.may_write(i)) writes(*memory, memory->range(0, memory->size()));
  }
  for (const Ref<MemoryObject>& memory : shared) {
    if ((memory->flags() & CL_MEM_READ_ONLY) == 0) writes(*memory, memory->range(0, memory->size()));
  }
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_copy(MemoryObject& source, MemoryObject& destination, std::uint64_t source_offset,
                                  std::uint64_t destination_offset, std::uint64_t size, SyncPoints wait,
                                  cl_sync_point_khr* sync_point) {
  const MutexLock lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  const cl_int error = append(
      EnqueueCopy{0, 0, source.id(), destination.id(), source_offset, destination_offset, size, {}}, wait, sync_point);
  if (error != CL_SUCCESS) return error;
  reads(source, source.range(source_offset, size));
  writes(destination, destination.range(destination_offset, size));
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_copy_rect(MemoryObject& source, MemoryObject& destination,
                                       const Rectangle& source_rectangle, const Rectangle& destination_rectangle,
                                       const Extent& region, SyncPoints wait, cl_sync_point_khr* sync_point) {
  const MutexLock lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  const cl_int error = append(EnqueueCopyRect{0,
                                              0,
                                              source.id(),
                                              destination.id(),
                                              source_rectangle.origin,
                                              destination_rectangle.origin,
                                              region,
                                              source_rectangle.row_pitch,
                                              source_rectangle.slice_pitch,
                                              destination_rectangle.row_pitch,
                                              destination_rectangle.slice_pitch,
                                              {}},
                              wait, sync_point);
  if (error != CL_SUCCESS) return error;
  const ByteRange written = destination.range(destination_rectangle.begin(), destination_rectangle.extent(region));
  reads(source, source.range(source_rectangle.begin(), source_rectangle.extent(region)));
  reads(destination, written);  // the gaps keep what they hold
  writes(destination, written);
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_fill(MemoryObject& buffer, Bytes pattern, std::uint64_t offset, std::uint64_t size,
                                  SyncPoints wait, cl_sync_point_khr* sync_point) {
  const MutexLock lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  const cl_int error = append(EnqueueFill{0, 0, buffer.id(), offset, size, pattern, {}}, wait, sync_point);
  if (error != CL_SUCCESS) return error;
  writes(buffer, buffer.range(offset, size));
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_copy_image(MemoryObject& source, MemoryObject& destination, const Extent& source_origin,
                                        const Extent& destination_origin, const Extent& region, SyncPoints wait,
                                        cl_sync_point_khr* sync_point) {
  const MutexLock lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  const cl_int error =
      append(EnqueueCopyImage{0, 0, source.id(), destination.id(), source_origin, destination_origin, region, {}}, wait,
             sync_point);
  if (error != CL_SUCCESS) return error;
  reads(source, source.range(0, source.size()));
  writes_region(destination, region);
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_fill_image(MemoryObject& image, const std::array<std::uint32_t, 4>& color,
                                        const Extent& origin, const Extent& region, SyncPoints wait,
                                        cl_sync_point_khr* sync_point) {
  const MutexLock lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  const cl_int error = append(EnqueueFillImage{0, 0, image.id(), origin, region, color, {}}, wait, sync_point);
  if (error != CL_SUCCESS) return error;
  writes_region(image, region);
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_copy_pixels(MemoryObject& image, MemoryObject& buffer, bool to_buffer,
                                         const Extent& origin, const Extent& region, std::uint64_t offset,
                                         SyncPoints wait, cl_sync_point_khr* sync_point) {
  const MutexLock lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  const cl_int error =
      append(EnqueueCopyImageBuffer{0, 0, image.id(), buffer.id(), to_buffer ? 1u : 0u, origin, region, offset, {}},
             wait, sync_point);
  if (error != CL_SUCCESS) return error;
  const ByteRange packed = buffer.range(offset, image.image()->shape.packed_size(region));
  if (to_buffer) {
    reads(image, image.range(0, image.size()));
    writes(buffer, packed);
  } else {
    reads(buffer, packed);
    writes_region(image, region);
  }
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_point(bool is_barrier, SyncPoints wait, cl_sync_point_khr* sync_point) {
  const MutexLock lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  const bool waits_for_all = is_barrier && wait.empty();
  return append(EnqueueMarker{0, 0, is_barrier ? 1u : 0u, waits_for_all ? 1u : 0u, {}}, wait, sync_point);
}

}  // namespace remotecl
