#include "icd/info.h"
#include "icd/wait_list.h"
#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/support/callback_thread.h"

namespace {

using namespace remotecl;
using icd::InfoSink;
using icd::object;
using icd::require;

const icd::InfoRow<Event> kEventInfo[] = {
    {CL_EVENT_COMMAND_QUEUE,
     [](Event& e, const InfoSink& sink) {
       sink.value<cl_command_queue>(
           e.queue() == nullptr || e.queue()->known() == nullptr ? nullptr : e.queue()->known()->handle());
     }},
    {CL_EVENT_CONTEXT, [](Event& e, const InfoSink& sink) { sink.value(e.context().handle()); }},
    {CL_EVENT_COMMAND_TYPE, [](Event& e, const InfoSink& sink) { sink.value(e.description().type); }},
    {CL_EVENT_COMMAND_EXECUTION_STATUS,
     [](Event& e, const InfoSink& sink) {
       const cl_int status = e.poll_status();
       if (status == CL_COMPLETE) CoherentHostMemory::bring_back(e.context());
       sink.value(status);
     }},
    {CL_EVENT_REFERENCE_COUNT, [](Event& e, const InfoSink& sink) { sink.value(e.handle_count()); }},
};

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clWaitForEvents(cl_uint num_events, const cl_event* event_list) {
  return icd::enter([&] {
    require(num_events != 0 && event_list != nullptr, CL_INVALID_VALUE);
    std::vector<Event*> events;
    for (cl_uint i = 0; i < num_events; ++i) events.push_back(&object<Event>(event_list[i]));
    // "CL_INVALID_CONTEXT if events specified in event_list do not belong to the same context."
    for (Event* event : events) require(&event->context() == &events[0]->context(), CL_INVALID_CONTEXT);
    const cl_int code = wait_for_events(events);
    CoherentHostMemory::bring_back(events[0]->context());
    return code;
  });
}

CL_API_ENTRY cl_int CL_API_CALL clGetEventInfo(cl_event event, cl_event_info name, size_t size, void* value,
                                               size_t* size_ret) {
  return icd::enter([&] { icd::answer(kEventInfo, object<Event>(event), name, InfoSink(size, value, size_ret)); });
}

CL_API_ENTRY cl_event CL_API_CALL clCreateUserEvent(cl_context context, cl_int* errcode_ret) {
  return icd::create(errcode_ret,
                     [&] { return make_ref<Event>(Ref<Context>(&object<Context>(context))).detach()->handle(); });
}

CL_API_ENTRY cl_int CL_API_CALL clSetUserEventStatus(cl_event event, cl_int status) {
  return icd::enter([&] {
    Event& of = object<Event>(event);
    require(of.is_user_event(), CL_INVALID_EVENT);
    // "CL_INVALID_VALUE if the execution_status is not CL_COMPLETE or a negative integer value."
    require(status <= CL_COMPLETE, CL_INVALID_VALUE);
    // "CL_INVALID_OPERATION if the execution_status for event has already been changed."
    require(of.set_user_status(status), CL_INVALID_OPERATION);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clRetainEvent(cl_event event) { return icd::retain<Event>(event); }
CL_API_ENTRY cl_int CL_API_CALL clReleaseEvent(cl_event event) { return icd::release<Event>(event); }

CL_API_ENTRY cl_int CL_API_CALL clSetEventCallback(cl_event event, cl_int state,
                                                   void(CL_CALLBACK* function)(cl_event, cl_int, void*),
                                                   void* user_data) {
  return icd::enter([&] {
    Event& of = object<Event>(event);
    require(function != nullptr, CL_INVALID_VALUE);
    require(state == CL_SUBMITTED || state == CL_RUNNING || state == CL_COMPLETE, CL_INVALID_VALUE);
    require(can_call_back(), CL_OUT_OF_RESOURCES);
    of.add_callback({state, function, user_data});
  });
}

CL_API_ENTRY cl_int CL_API_CALL clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t size,
                                                        void* value, size_t* size_ret) {
  return icd::enter([&] {
    Event& of = object<Event>(event);
    const InfoSink sink(size, value, size_ret);
    // "CL_PROFILING_INFO_NOT_AVAILABLE if the CL_QUEUE_PROFILING_ENABLE flag is not set for the command-queue, if the
    // execution status of the command identified by event is not CL_COMPLETE or if event is a user event object."
    require(!of.is_user_event() && of.queue()->profiling(), CL_PROFILING_INFO_NOT_AVAILABLE);
    require(of.poll_status() == CL_COMPLETE, CL_PROFILING_INFO_NOT_AVAILABLE);
    std::array<std::uint64_t, 4> times{};
    require(of.profile(times), CL_PROFILING_INFO_NOT_AVAILABLE);
    switch (name) {
      case CL_PROFILING_COMMAND_QUEUED:
        return sink.value<cl_ulong>(times[0]);
      case CL_PROFILING_COMMAND_SUBMIT:
        return sink.value<cl_ulong>(times[1]);
      case CL_PROFILING_COMMAND_START:
        return sink.value<cl_ulong>(times[2]);
      case CL_PROFILING_COMMAND_END:
      case CL_PROFILING_COMMAND_COMPLETE:  // no device of ours enqueues from a kernel, so both are the same
        return sink.value<cl_ulong>(times[3]);
      default:
        throw icd::ApiError{CL_INVALID_VALUE};
    }
  });
}
