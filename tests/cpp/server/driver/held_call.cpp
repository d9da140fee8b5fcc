#include "server/driver/held_call.h"

#include <CL/cl.h>
#include <dlfcn.h>

#include <chrono>
#include <string_view>

#include "runtime/base/mutex.h"

namespace remotecl::testing {
namespace {

Mutex g_mutex;
ConditionVariable g_changed;
std::string_view g_function GUARDED_BY(g_mutex);  // empty: no call is to be held
bool g_is_inside GUARDED_BY(g_mutex) = false;

void pass(std::string_view function) {
  MutexLock lock(g_mutex);
  if (g_function != function) return;
  g_function = {};
  g_is_inside = true;
  g_changed.notify_all();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (g_is_inside && g_changed.wait_until(g_mutex, end) != std::cv_status::timeout) {
  }
  g_is_inside = false;
}

template <class Function>
Function* next(const char* name, Function*) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

HeldCall::HeldCall(const char* function) {
  const MutexLock lock(g_mutex);
  g_function = function;
}

void HeldCall::await() {
  const MutexLock lock(g_mutex);
  while (!g_function.empty()) g_changed.wait(g_mutex);
}

bool HeldCall::is_inside() const {
  const MutexLock lock(g_mutex);
  return g_is_inside;
}

void HeldCall::release() {
  const MutexLock lock(g_mutex);
  g_function = {};
  g_is_inside = false;
  g_changed.notify_all();
}

}  // namespace remotecl::testing

using remotecl::testing::next;
using remotecl::testing::pass;

// In front of the loader.
#pragma GCC visibility push(default)
extern "C" {

cl_int clReleaseContext(cl_context context) {
  static auto* const call = next("clReleaseContext", &clReleaseContext);
  pass("clReleaseContext");
  return call(context);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* error) {
  static auto* const call = next("clCreateBuffer", &clCreateBuffer);
  pass("clCreateBuffer");
  return call(context, flags, size, host, error);
}

void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags flags, size_t offset,
                         size_t size, cl_uint count, const cl_event* waits, cl_event* event, cl_int* error) {
  static auto* const call = next("clEnqueueMapBuffer", &clEnqueueMapBuffer);
  pass("clEnqueueMapBuffer");
  return call(queue, memory, blocking, flags, offset, size, count, waits, event, error);
}

cl_int clWaitForEvents(cl_uint count, const cl_event* events) {
  static auto* const call = next("clWaitForEvents", &clWaitForEvents);
  pass("clWaitForEvents");
  return call(count, events);
}

cl_int clGetProgramInfo(cl_program program, cl_program_info name, size_t size, void* value, size_t* size_needed) {
  static auto* const call = next("clGetProgramInfo", &clGetProgramInfo);
  pass("clGetProgramInfo");
  return call(program, name, size, value, size_needed);
}

}  // extern "C"
#pragma GCC visibility pop
