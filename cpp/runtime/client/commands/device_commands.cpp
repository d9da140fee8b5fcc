// Commands that stay on the device: kernels, copies, fills, markers; and migration.
#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/commands/device_plans.h"

namespace remotecl {
namespace {

// Waits and does nothing else on the device.
struct MarkerPlan : Plan {
  cl_command_type type;
  bool is_barrier;
  bool has_waits;

  cl_int prepare(PendingCommand& command) const REQUIRES(kMemoryMutex) {
    if (!has_waits) command.waits_for_all();
    if (is_barrier) command.is_barrier(!has_waits);
    return CL_SUCCESS;
  }
  void uses(auto&) const {}
  EnqueueMarker message() const { return {0, 0, is_barrier ? 1u : 0u, has_waits ? 0u : 1u, {}}; }
};

struct MigratePlan : Plan {
  static constexpr bool kPreparesKernels = true;

  cl_command_type type;
  std::span<MemoryObject* const> buffers;
  bool is_undefined;
  bool is_later;    // the bytes are brought when the application waits
  bool is_certain;  // to begin; otherwise content that nobody needs any more is kept, which is allowed

  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    for (MemoryObject* buffer : buffers) {
      if (!is_undefined && !is_later) uses.reads(*buffer, buffer->range(0, buffer->size()));
    }
  }
  cl_int send(PendingCommand& command) const REQUIRES(kMemoryMutex) {
    for (MemoryObject* buffer : buffers) {
      if (is_undefined && is_certain) buffer->storage().residency.forget(buffer->range(0, buffer->size()));
    }
    send_place_marker(command);
    return CL_SUCCESS;
  }
};

}  // namespace

KernelArgument encode_argument(std::uint32_t index, const Kernel::Argument& argument) {
  switch (argument.kind) {
    case ArgumentKind::kMemory:
    case ArgumentKind::kImage:
      return {index, argument.kind, argument.memory ? argument.memory->id() : 0, {}};
    case ArgumentKind::kSvm:
    case ArgumentKind::kLocal:
      return {index, argument.kind, argument.number, {}};
    case ArgumentKind::kSampler:
      return {index, argument.kind, argument.sampler->id(), {}};
    default:
      return {index, argument.kind, 0, Bytes(argument.value)};
  }
}

cl_int KernelPlan::send(PendingCommand& command) const {
  Session& session = command.session();
  kernel.program().create_on(session);
  kernel.create_on(session);
  std::vector<std::uint64_t>& sent = kernel.sent_versions(command.queue().device());
  const auto& arguments = kernel.arguments();
  thread_local std::vector<KernelArgument> changed;
  changed.clear();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].sampler) arguments[i].sampler->create_on(session);
    if (arguments[i].version <= sent[i]) continue;
    changed.push_back(encode_argument(static_cast<std::uint32_t>(i), arguments[i]));
    sent[i] = arguments[i].version;
  }
  kernel.send_svm_pointers(session);
  command.runs(kernel.info().name);
  send_message(command, message(changed));
  return CL_SUCCESS;
}

cl_int enqueue_kernel(CommandQueue& queue, Kernel& kernel, const NDRange& range, cl_command_type type, WaitList wait,
                      Event** event) {
  return submit(queue, KernelPlan{{}, type, kernel, range}, wait, event);
}

cl_int enqueue_copy(CommandQueue& queue, MemoryObject& source, MemoryObject& destination, std::uint64_t source_offset,
                    std::uint64_t destination_offset, std::uint64_t size, WaitList wait, Event** event,
                    cl_command_type type) {
  return submit(queue, CopyPlan{{}, type, source, destination, source_offset, destination_offset, size}, wait, event);
}

cl_int enqueue_copy_rect(CommandQueue& queue, MemoryObject& source, MemoryObject& destination,
                         const Rectangle& source_rectangle, const Rectangle& destination_rectangle,
                         const Extent& region, WaitList wait, Event** event, cl_command_type type) {
  const CopyRectPlan plan{{}, type, source, destination, source_rectangle, destination_rectangle, region};
  return submit(queue, plan, wait, event);
}

cl_int enqueue_fill(CommandQueue& queue, MemoryObject& buffer, Bytes pattern, std::uint64_t offset, std::uint64_t size,
                    WaitList wait, Event** event, cl_command_type type) {
  return submit(queue, FillPlan{{}, type, buffer, pattern, offset, size}, wait, event);
}

cl_int enqueue_migrate(CommandQueue& queue, std::span<MemoryObject* const> buffers, cl_mem_migration_flags flags,
                       WaitList wait, Event** event, cl_command_type type) {
  const bool is_undefined = (flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED) != 0;
  const bool to_host = !is_undefined && (flags & CL_MIGRATE_MEM_OBJECT_HOST) != 0;
  if (to_host && !CoherentHostMemory::any()) return enqueue_migrate_to_host(queue, buffers, wait, event, type);
  return submit(queue, MigratePlan{{}, type, buffers, is_undefined, to_host, wait.empty()}, wait, event);
}

cl_int enqueue_marker(CommandQueue& queue, bool is_barrier, cl_command_type type, WaitList wait, Event** event) {
  QueuePlacement* const placement = queue.placement();
  if (placement != nullptr && !queue.in_order()) return placement->enqueue_point(is_barrier, type, wait, event);
  return submit(queue, MarkerPlan{{}, type, is_barrier, !wait.empty()}, wait, event);
}

cl_int wait_for_events(WaitList events) {
  for (Event* event : events) {
    if (Session* session = event->session()) session->flush();
  }
  bool failed = false;
  for (Event* event : events) {
    if (!event->wait_until(WaitLimit::deadline())) {
      WaitLimit::note(WaitLimit::kInUse);
      return CL_SUCCESS;
    }
    failed = event->status() < 0 || failed;
  }
  return failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

}  // namespace remotecl
