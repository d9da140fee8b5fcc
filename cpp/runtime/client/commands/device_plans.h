#pragma once

#include <concepts>

#include "runtime/client/commands/command_plan.h"
#include "runtime/client/objects/image_layout.h"

// Plans of the commands that stay on the device. These can also be recorded.
namespace remotecl {

struct KernelPlan : Plan {
  cl_command_type type;
  Kernel& kernel;
  const NDRange& range;

  Kernel* launched() const { return &kernel; }
  double work_items() const { return static_cast<double>(range.global[0] * range.global[1] * range.global[2]); }
  void will_use(auto& uses) const REQUIRES(kMemoryMutex) {
    const MutexLock lock(kernel.mutex());
    this->uses(uses);
  }
  void uses(auto& uses) const REQUIRES(kMemoryMutex, kernel.mutex()) {
    const auto& arguments = kernel.arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      MemoryObject* const memory = arguments[i].memory.get();
      if (memory == nullptr) continue;
      if (memory->network_device() != nullptr) [[unlikely]] {
        uses.has_network(*memory);
        continue;
      }
      const ByteRange bytes = memory->range(0, memory->size());
      uses.reads(*memory, bytes);
      if (kernel.may_write(i)) uses.writes(*memory, bytes);
    }
    for (const Ref<MemoryObject>& memory : kernel.svm_memory()) {
      const ByteRange bytes = memory->range(0, memory->size());
      uses.reads(*memory, bytes);
      if ((memory->flags() & CL_MEM_READ_ONLY) == 0) uses.writes(*memory, bytes);
    }
  }
  EnqueueKernel message(std::span<const KernelArgument> arguments) const {
    return {
        0,           0,         kernel.id(), range.dimensions, range.has_local ? 1u : 0u, range.offset, range.global,
        range.local, arguments, {}};
  }
  cl_int send(PendingCommand& command) const REQUIRES(kMemoryMutex, kernel.mutex());
};

// Keeps the kernel's arguments locked until they have been sent. The kernel must be unlocked before submit()
// may wait.
template <std::derived_from<KernelPlan> AnyKernelPlan>
cl_int bring_and_send(PendingCommand& command, AnyKernelPlan& plan) REQUIRES(kMemoryMutex) {
  const MutexLock lock(plan.kernel.mutex());
  plan.uses(command);
  if (command.error() != CL_SUCCESS) return command.error();
  command.keep_event();
  return plan.send(command);
}

struct CopyPlan : Plan {
  cl_command_type type;
  MemoryObject& source;
  MemoryObject& destination;
  std::uint64_t source_offset, destination_offset, size;

  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    uses.reads(source, source.range(source_offset, size));
    uses.writes(destination, destination.range(destination_offset, size));
  }
  void describe(PendingCommand& command) const {
    command.moves(size, &command.queue().device(), &command.queue().device());
  }
  EnqueueCopy message() const {
    return {0, 0, source.id(), destination.id(), source_offset, destination_offset, size, {}};
  }
};

struct CopyRectPlan : Plan {
  cl_command_type type;
  MemoryObject& source;
  MemoryObject& destination;
  const Rectangle& from;
  const Rectangle& to;
  const Extent& region;

  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    const ByteRange written = destination.range(to.begin(), to.extent(region));
    uses.reads(source, source.range(from.begin(), from.extent(region)));
    uses.reads(destination, written);  // the gaps keep what they hold
    uses.writes(destination, written);
  }
  void describe(PendingCommand& command) const {
    command.moves(region[0] * region[1] * region[2], &command.queue().device(), &command.queue().device());
  }
  EnqueueCopyRect message() const {
    return {0,
            0,
            source.id(),
            destination.id(),
            from.origin,
            to.origin,
            region,
            from.row_pitch,
            from.slice_pitch,
            to.row_pitch,
            to.slice_pitch,
            {}};
  }
};

struct FillPlan : Plan {
  cl_command_type type;
  MemoryObject& buffer;
  Bytes pattern;
  std::uint64_t offset, size;

  void uses(auto& uses) const REQUIRES(kMemoryMutex) { uses.writes(buffer, buffer.range(offset, size)); }
  void describe(PendingCommand& command) const {
    if (TraceRecord* record = command.record()) record->bytes = size;
  }
  EnqueueFill message() const { return {0, 0, buffer.id(), offset, size, pattern, {}}; }
};

inline ByteRange all_of(const MemoryObject& image) { return image.range(0, image.size()); }

// Returns true if writing a region of this size replaces the whole image.
inline bool overwrites_all(const MemoryObject& image, const Extent& region) {
  return image.image()->is_whole(region) && image.size() == *image.image()->shape.packed_size();
}

// Reads the image too if the write leaves part of it unchanged.
void writes_region(auto& uses, MemoryObject& image, const Extent& region) REQUIRES(kMemoryMutex) {
  if (!overwrites_all(image, region)) uses.reads(image, all_of(image));
  uses.writes(image, all_of(image));
}

struct CopyImagePlan : Plan {
  static constexpr cl_command_type type = CL_COMMAND_COPY_IMAGE;
  MemoryObject& source;
  MemoryObject& destination;
  const Extent& source_origin;
  const Extent& destination_origin;
  const Extent& region;

  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    uses.reads(source, all_of(source));
    writes_region(uses, destination, region);
  }
  EnqueueCopyImage message() const {
    return {0, 0, source.id(), destination.id(), source_origin, destination_origin, region, {}};
  }
};

struct FillImagePlan : Plan {
  static constexpr cl_command_type type = CL_COMMAND_FILL_IMAGE;
  MemoryObject& image;
  const std::array<std::uint32_t, 4>& color;
  const Extent& origin;
  const Extent& region;

  void uses(auto& uses) const REQUIRES(kMemoryMutex) { writes_region(uses, image, region); }
  EnqueueFillImage message() const { return {0, 0, image.id(), origin, region, color, {}}; }
};

// Between an image and packed pixels at an offset of a buffer.
struct CopyPixelsPlan : Plan {
  bool to_buffer;
  MemoryObject& image;
  MemoryObject& buffer;
  const Extent& origin;
  const Extent& region;
  std::uint64_t offset;

  cl_command_type type = to_buffer ? CL_COMMAND_COPY_IMAGE_TO_BUFFER : CL_COMMAND_COPY_BUFFER_TO_IMAGE;

  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    const ByteRange packed = buffer.range(offset, image.image()->shape.packed_size(region));
    if (to_buffer) {
      uses.reads(image, all_of(image));
      uses.writes(buffer, packed);
    } else {
      uses.reads(buffer, packed);
      writes_region(uses, image, region);
    }
  }
  EnqueueCopyImageBuffer message() const {
    return {0, 0, image.id(), buffer.id(), to_buffer ? 1u : 0u, origin, region, offset, {}};
  }
};

}  // namespace remotecl
