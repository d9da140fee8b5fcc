#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "extras/streams/driver/objects.h"

namespace remotecl::plugins {

// Work that a worker does once everything that it waits for has ended.
struct Command {
  Command(std::function<cl_int()> work, cl_event event) : work(std::move(work)), event(event) {}
  std::function<cl_int()> work;  // returns CL_COMPLETE or an error
  const Held<_cl_event> event;
  unsigned waiting GUARDED_BY(state_mutex) = 0;
  bool is_doomed GUARDED_BY(state_mutex) = false;  // an event of its wait list has failed
};

struct Request {
  cl_command_queue queue;
  cl_command_type type;
  cl_uint wait_count = 0;
  const cl_event* waits = nullptr;
  cl_event* event = nullptr;
  bool waits_for_all = false;    // for all commands in the queue, if there is no wait list
  bool is_barrier = false;       // later commands wait for it
  cl_program program = nullptr;  // after the program's last call
};

// Starts at once if there is nothing to wait for; CL_FLUSH has no meaning here.
cl_int enqueue(const Request& request, std::function<cl_int()> work) EXCLUDES(state_mutex);
// The same; if blocking, waits for the command's end and returns its error.
cl_int enqueue(const Request& request, bool is_blocking, std::function<cl_int()> work) EXCLUDES(state_mutex);
// Ends the event, releases the commands that wait for it, and calls its callbacks.
void end_event(const Held<_cl_event>& event, cl_int status) EXCLUDES(state_mutex);
// Return when the event, or every command of the queue, has ended.
void wait_for(cl_event event) EXCLUDES(state_mutex);
void wait_for_all(cl_command_queue queue) EXCLUDES(state_mutex);
cl_ulong now();

}  // namespace remotecl::plugins
