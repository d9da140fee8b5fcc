// cl_khr_command_buffer 0.9.1: creation, finalization, replay and queries.
// api_command_buffer_record.cpp has the commands that can be recorded.
#include "icd/command_buffer_functions.h"
#include "icd/info.h"
#include "icd/wait_list.h"
#include "runtime/client/commands/command_buffer.h"

namespace remotecl::icd {
namespace {

constexpr cl_command_buffer_flags_khr kKnownFlags = CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR;

cl_command_buffer_flags_khr checked_flags(const cl_command_buffer_properties_khr* properties,
                                          std::vector<cl_command_buffer_properties_khr>& copy) {
  cl_command_buffer_flags_khr flags = 0;
  if (properties == nullptr) return flags;
  for (; *properties != 0; properties += 2) {
    // "CL_INVALID_VALUE if values specified in properties are not valid, or if the same property name is specified more
    // than once."
    require(properties[0] == CL_COMMAND_BUFFER_FLAGS_KHR && copy.empty(), CL_INVALID_VALUE);
    require((properties[1] & ~kKnownFlags) == 0, CL_INVALID_VALUE);
    flags = properties[1];
    copy.insert(copy.end(), properties, properties + 2);
  }
  copy.push_back(0);
  return flags;
}

// The queue of a replay: the recording's own, or a compatible one.
CommandQueue& replay_queue(CommandBuffer& commands, cl_uint num_queues, const cl_command_queue* queues) {
  // "CL_INVALID_VALUE if queues is NULL and num_queues is > 0, or queues is not NULL and num_queues is 0."
  require((queues == nullptr) == (num_queues == 0), CL_INVALID_VALUE);
  if (queues == nullptr) return commands.queue();
  // "CL_INVALID_VALUE if num_queues is > 0 and not the same value as num_queues set on command_buffer creation."
  require(num_queues == 1, CL_INVALID_VALUE);
  CommandQueue& queue = object<CommandQueue>(queues[0]);
  const CommandQueue& own = commands.queue();
  // "CL_INVALID_CONTEXT if any element of queues does not have the same context as the command-queue set on
  // command_buffer creation at the same list index."
  require(&queue.context() == &own.context(), CL_INVALID_CONTEXT);
  // "A compatible command-queue is defined as a command-queue with identical properties targeting the same device and
  // in the same OpenCL context."
  require(&queue.device() == &own.device() && queue.properties() == own.properties(),
          CL_INCOMPATIBLE_COMMAND_QUEUE_KHR);
  return queue;
}

const InfoRow<CommandBuffer> kCommandBufferInfo[] = {
    {CL_COMMAND_BUFFER_NUM_QUEUES_KHR, [](CommandBuffer&, const InfoSink& sink) { sink.value<cl_uint>(1); }},
    {CL_COMMAND_BUFFER_QUEUES_KHR, [](CommandBuffer& c, const InfoSink& sink) { sink.value(c.queue().handle()); }},
    {CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR,
     [](CommandBuffer& c, const InfoSink& sink) { sink.value<cl_uint>(c.handle_count()); }},
    {CL_COMMAND_BUFFER_STATE_KHR, [](CommandBuffer& c, const InfoSink& sink) { sink.value(c.state()); }},
    {CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR, [](CommandBuffer& c, const InfoSink& sink) { sink.list(c.properties()); }},
};

}  // namespace

cl_command_buffer_khr CL_API_CALL create_command_buffer(cl_uint num_queues, const cl_command_queue* queues,
                                                        const cl_command_buffer_properties_khr* properties,
                                                        cl_int* errcode_ret) {
  return create(errcode_ret, [&] {
    // "CL_INVALID_VALUE if num_queues is not one; if queues is NULL."
    require(num_queues == 1 && queues != nullptr, CL_INVALID_VALUE);
    CommandQueue& queue = object<CommandQueue>(queues[0]);
    // The automatic device does not have the extension.
    require(queue.placement() == nullptr, CL_INVALID_COMMAND_QUEUE);
    std::vector<cl_command_buffer_properties_khr> copy;
    const cl_command_buffer_flags_khr flags = checked_flags(properties, copy);
    return make_ref<CommandBuffer>(Ref<CommandQueue>(&queue), flags, std::move(copy)).detach()->handle();
  });
}

cl_int CL_API_CALL retain_command_buffer(cl_command_buffer_khr command_buffer) {
  return retain<CommandBuffer>(command_buffer);
}
cl_int CL_API_CALL release_command_buffer(cl_command_buffer_khr command_buffer) {
  return release<CommandBuffer>(command_buffer);
}

cl_int CL_API_CALL finalize_command_buffer(cl_command_buffer_khr command_buffer) {
  // "CL_INVALID_OPERATION if command_buffer is not in the Recording state."
  return enter([&] { return object<CommandBuffer>(command_buffer).end_recording(); });
}

cl_int CL_API_CALL enqueue_command_buffer(cl_uint num_queues, cl_command_queue* queues,
                                          cl_command_buffer_khr command_buffer, cl_uint count, const cl_event* list,
                                          cl_event* event) {
  return enter([&] {
    CommandBuffer& commands = object<CommandBuffer>(command_buffer);
    // "CL_INVALID_OPERATION if command_buffer has not been finalized."
    require(!commands.is_recording(), CL_INVALID_OPERATION);
    CommandQueue& queue = replay_queue(commands, num_queues, queues);
    Dependencies dependencies(queue.context(), count, list, event);
    return dependencies.finish(commands.enqueue(queue, dependencies.wait(), dependencies.event()));
  });
}

cl_int CL_API_CALL get_command_buffer_info(cl_command_buffer_khr command_buffer, cl_command_buffer_info_khr name,
                                           size_t size, void* value, size_t* size_ret) {
  return enter([&] {
    answer(kCommandBufferInfo, object<CommandBuffer>(command_buffer), name, InfoSink(size, value, size_ret));
  });
}

}  // namespace remotecl::icd
