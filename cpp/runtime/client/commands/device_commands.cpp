// Commands that stay on the device: kernels, copies, fills, markers; and migration.
#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/commands/pending_command.h"

namespace remotecl {
namespace {

cl_int finish_command(PendingCommand& command, Event** event) {
  Ref<Event> own = command.sent();
  if (event != nullptr) *event = own.detach();
  return CL_SUCCESS;
}

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

cl_int enqueue_kernel(CommandQueue& queue, Kernel& kernel, const NDRange& range, cl_command_type type, WaitList wait,
                      Event** event) {
  PendingCommand command(queue, type, wait, event != nullptr);
  MutexLock lock(kernel.mutex());
  kernel.program().create_on(queue.session());
  kernel.create_on(queue.session());
  std::vector<std::uint64_t>& sent = kernel.sent_versions(queue.device());
  const auto& arguments = kernel.arguments();
  thread_local std::vector<KernelArgument> changed;
  changed.clear();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (MemoryObject* memory = arguments[i].memory.get()) {
      const ByteRange bytes = memory->range(0, memory->size());
      command.reads(*memory, bytes);
      if (kernel.may_write(i)) command.writes(*memory, bytes);
    }
    if (arguments[i].sampler) arguments[i].sampler->create_on(queue.session());
    if (arguments[i].version > sent[i]) changed.push_back(encode_argument(static_cast<std::uint32_t>(i), arguments[i]));
  }
  for (const Ref<MemoryObject>& memory : kernel.svm_memory()) {
    const ByteRange bytes = memory->range(0, memory->size());
    command.reads(*memory, bytes);
    if ((memory->flags() & CL_MEM_READ_ONLY) == 0) command.writes(*memory, bytes);
  }
  if (command.error() != CL_SUCCESS) return command.error();
  kernel.send_svm_pointers(queue.session());
  command.runs(kernel.info().name);
  for (const KernelArgument& argument : changed) sent[argument.index] = arguments[argument.index].version;
  command.send(EnqueueKernel{queue.id(), command.event_id(), kernel.id(), range.dimensions, range.has_local ? 1u : 0u,
                             range.offset, range.global, range.local, std::span<const KernelArgument>(changed),
                             command.wait_list()});
  lock.unlock();  // submitting may wait
  return finish_command(command, event);
}

cl_int enqueue_copy(CommandQueue& queue, MemoryObject& source, MemoryObject& destination, std::uint64_t source_offset,
                    std::uint64_t destination_offset, std::uint64_t size, WaitList wait, Event** event,
                    cl_command_type type) {
  PendingCommand command(queue, type, wait, event != nullptr);
  command.reads(source, source.range(source_offset, size));
  command.writes(destination, destination.range(destination_offset, size));
  if (command.error() != CL_SUCCESS) return command.error();
  command.moves(size, &queue.device(), &queue.device());
  command.send(EnqueueCopy{queue.id(), command.event_id(), source.id(), destination.id(), source_offset,
                           destination_offset, size, command.wait_list()});
  return finish_command(command, event);
}

cl_int enqueue_copy_rect(CommandQueue& queue, MemoryObject& source, MemoryObject& destination,
                         const Rectangle& source_rectangle, const Rectangle& destination_rectangle,
                         const Extent& region, WaitList wait, Event** event, cl_command_type type) {
  PendingCommand command(queue, type, wait, event != nullptr);
  command.reads(source, source.range(source_rectangle.begin(), source_rectangle.extent(region)));
  const ByteRange written = destination.range(destination_rectangle.begin(), destination_rectangle.extent(region));
  command.reads(destination, written);  // the gaps keep what they hold
  command.writes(destination, written);
  if (command.error() != CL_SUCCESS) return command.error();
  command.moves(region[0] * region[1] * region[2], &queue.device(), &queue.device());
  command.send(EnqueueCopyRect{queue.id(), command.event_id(), source.id(), destination.id(), source_rectangle.origin,
                               destination_rectangle.origin, region, source_rectangle.row_pitch,
                               source_rectangle.slice_pitch, destination_rectangle.row_pitch,
                               destination_rectangle.slice_pitch, command.wait_list()});
  return finish_command(command, event);
}

cl_int enqueue_fill(CommandQueue& queue, MemoryObject& buffer, Bytes pattern, std::uint64_t offset, std::uint64_t size,
                    WaitList wait, Event** event, cl_command_type type) {
  PendingCommand command(queue, type, wait, event != nullptr);
  command.writes(buffer, buffer.range(offset, size));
  if (command.error() != CL_SUCCESS) return command.error();
  if (TraceRecord* record = command.record()) record->bytes = size;
  command.send(EnqueueFill{queue.id(), command.event_id(), buffer.id(), offset, size, pattern, command.wait_list()});
  return finish_command(command, event);
}

cl_int enqueue_migrate(CommandQueue& queue, std::span<MemoryObject* const> buffers, cl_mem_migration_flags flags,
                       WaitList wait, Event** event, cl_command_type type) {
  const bool is_undefined = (flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED) != 0;
  const bool to_host = !is_undefined && (flags & CL_MIGRATE_MEM_OBJECT_HOST) != 0;
  if (to_host && !CoherentHostMemory::any()) return enqueue_migrate_to_host(queue, buffers, wait, event, type);
  PendingCommand command(queue, type, wait, event != nullptr);
  for (MemoryObject* buffer : buffers) {
    const ByteRange all = buffer->range(0, buffer->size());
    if (to_host) continue;  // it comes when the application waits
    if (!is_undefined) {
      command.reads(*buffer, all);
    } else if (command.error() == CL_SUCCESS) {
      buffer->storage().residency.forget(all);
    }
  }
  if (command.error() != CL_SUCCESS) return command.error();
  const std::uint32_t for_all = queue.in_order() ? 1 : 0;
  command.send(EnqueueMarker{queue.id(), command.event_id(), 0, for_all, command.wait_list()});
  return finish_command(command, event);
}

cl_int enqueue_marker(CommandQueue& queue, bool is_barrier, cl_command_type type, WaitList wait, Event** event) {
  PendingCommand command(queue, type, wait, event != nullptr);
  if (command.error() != CL_SUCCESS) return command.error();
  if (wait.empty()) command.waits_for_all();
  if (is_barrier) command.is_barrier(wait.empty());
  command.send(
      EnqueueMarker{queue.id(), command.event_id(), is_barrier ? 1u : 0u, wait.empty() ? 1u : 0u, command.wait_list()});
  return finish_command(command, event);
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
