#include "extras/streams/driver/command.h"

#include <algorithm>
#include <chrono>

#include "extras/streams/driver/workers.h"

namespace remotecl::plugins {

Mutex state_mutex;

namespace {

using Ready = std::vector<std::shared_ptr<Command>>;
using Calls = std::vector<std::function<void(cl_int)>>;

// Never destroyed, because workers outlive static objects.
ConditionVariable& state_changed() {
  static auto& condition = *new ConditionVariable;
  return condition;
}

void add_dependency(const std::shared_ptr<Command>& command, cl_event on, bool passes_failure) REQUIRES(state_mutex) {
  if (on == nullptr || on == command->event.get()) return;
  if (on->status > CL_COMPLETE) {
    on->dependents.emplace_back(command, passes_failure);
    ++command->waiting;
  } else if (passes_failure && on->status < 0) {
    command->is_doomed = true;
  }
}

void add_dependencies(const std::shared_ptr<Command>& command, const Request& request) REQUIRES(state_mutex) {
  cl_command_queue queue = request.queue;
  for (cl_uint i = 0; i < request.wait_count; ++i) add_dependency(command, request.waits[i], true);
  add_dependency(command, queue->predecessor, false);
  if (request.waits_for_all && request.wait_count == 0 && !queue->is_in_order()) {
    for (const cl_event each : queue->unfinished) add_dependency(command, each, false);
  }
  if (request.program != nullptr) add_dependency(command, request.program->last_call.get(), false);
}

Calls take_calls(cl_event event, cl_int status) REQUIRES(state_mutex) {
  Calls calls;
  auto& all = event->callbacks;
  for (auto& callback : all) {
    if (callback.at >= status) calls.push_back(std::move(callback.function));
  }
  std::erase_if(all, [status](const _cl_event::Callback& each) { return each.at >= status; });
  return calls;
}

void begin_event(cl_event event) {
  Calls calls;
  {
    MutexLock lock(state_mutex);
    event->status = CL_RUNNING;
    event->times[1] = event->times[2] = now();
    calls = take_calls(event, CL_RUNNING);
  }
  for (auto& call : calls) call(CL_RUNNING);
}

// Returns the commands that can start now.
Ready finish(const Held<_cl_event>& event, cl_int status) {
  Ready ready;
  Calls calls;
  {
    MutexLock lock(state_mutex);
    event->status = status;
    event->times[3] = now();
    if (event->times[2] == 0) event->times[1] = event->times[2] = event->times[3];
    if (event->queue) {
      event->queue->unfinished.erase(event.get());
      if (event->queue->predecessor == event.get()) event->queue->predecessor = nullptr;
    }
    for (auto& [command, passes_failure] : std::exchange(event->dependents, {})) {
      if (passes_failure && status < 0) command->is_doomed = true;
      if (--command->waiting == 0) ready.push_back(command);
    }
    calls = take_calls(event.get(), status);
  }
  state_changed().notify_all();
  for (auto& call : calls) call(status);
  return ready;
}

cl_int run(Command& command) {
  begin_event(command.event.get());
  bool is_doomed = false;
  {
    MutexLock lock(state_mutex);
    is_doomed = command.is_doomed;
  }
  const cl_int status = is_doomed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : command.work();
  command.work = nullptr;  // lets go of buffers before anybody sees the end
  return status;
}

// A worker goes on with a command that its own has released, which saves a hand-off.
void carry_out(std::shared_ptr<Command> command) {
  while (command != nullptr) {
    const cl_int status = run(*command);
    Ready ready = finish(command->event, status);
    command = nullptr;
    if (ready.empty()) return;
    command = std::move(ready.front());
    for (std::size_t i = 1; i < ready.size(); ++i) {
      submit_work([next = std::move(ready[i])] { carry_out(next); });
    }
  }
}

}  // namespace

cl_ulong now() { return static_cast<cl_ulong>(std::chrono::steady_clock::now().time_since_epoch().count()); }

cl_int enqueue(const Request& request, std::function<cl_int()> work) {
  if ((request.wait_count == 0) != (request.waits == nullptr)) return CL_INVALID_EVENT_WAIT_LIST;
  cl_command_queue queue = request.queue;
  for (cl_uint i = 0; i < request.wait_count; ++i) {
    if (request.waits[i] == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
    if (request.waits[i]->context.get() != queue->context.get()) return CL_INVALID_CONTEXT;
  }
  auto* event = new _cl_event(queue->context.get(), queue, request.type);
  const auto command = std::make_shared<Command>(std::move(work), event);
  bool is_ready = false;
  Held<_cl_event> former;  // ends without the lock
  {
    MutexLock lock(state_mutex);
    event->times[0] = now();
    add_dependencies(command, request);
    queue->unfinished.insert(event);
    if (queue->is_in_order() || request.is_barrier) queue->predecessor = event;
    if (request.program != nullptr) former = std::exchange(request.program->last_call, Held<_cl_event>(event));
    is_ready = command->waiting == 0;
  }
  if (is_ready) submit_work([command] { carry_out(command); });
  if (request.event != nullptr) {
    *request.event = event;
  } else {
    release(event);
  }
  return CL_SUCCESS;
}

cl_int enqueue(const Request& request, bool is_blocking, std::function<cl_int()> work) {
  if (!is_blocking) return enqueue(request, std::move(work));
  Request waited = request;
  cl_event event = nullptr;
  waited.event = &event;
  const cl_int error = enqueue(waited, std::move(work));
  if (error != CL_SUCCESS) return error;
  wait_for(event);
  cl_int status = CL_COMPLETE;
  {
    MutexLock lock(state_mutex);
    status = event->status;
  }
  if (request.event != nullptr && status == CL_COMPLETE) {
    *request.event = event;
  } else {
    release(event);
  }
  return status;
}

void end_event(const Held<_cl_event>& event, cl_int status) {
  for (auto& command : finish(event, status)) {
    submit_work([command] { carry_out(command); });
  }
}

void wait_for(cl_event event) {
  MutexLock lock(state_mutex);
  while (event->status > CL_COMPLETE) state_changed().wait(state_mutex);
}

void wait_for_all(cl_command_queue queue) {
  MutexLock lock(state_mutex);
  while (!queue->unfinished.empty()) state_changed().wait(state_mutex);
}

}  // namespace remotecl::plugins
