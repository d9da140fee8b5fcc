// Ends with work in flight, in the way that its argument names. The test looks at how it ends.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <list>
#include <string>
#include <thread>

#include "icd/opencl.h"

using namespace remotecl::testing;

// To a leak sanitizer: what is in use at the end is no leak, and threads that still run confuse it.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() { return 1; }

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  cl_uint count = 0;
  cl_platform_id platforms[16];
  check(clGetPlatformIDs(16, platforms, &count));
  cl_device_id devices[16];
  cl_uint device_count = 0;
  for (cl_uint i = 0; i < count; ++i) {
    if (text(clGetPlatformInfo, platforms[i], CL_PLATFORM_NAME) != "remotecl") continue;
    check(clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 16, devices, &device_count));
  }
  if (device_count == 0) return 77;
  // Leaked on purpose: programs do.
  static auto& context =
      *new Owned<cl_context>(make_context(std::vector<cl_device_id>(devices, devices + device_count)));
  static auto& host = *new std::vector<char>(16u << 20);  // commands use it as long as the process lives
  static auto& program = *new Owned<cl_program>(build(
      context,
      "kernel void spin(global int* x) { volatile global int* y = x; for (int i = 0; i < 2000000; i++) *y += 1; }"));
  struct Work {
    Owned<cl_command_queue> queue;
    Owned<cl_mem> buffer;
    Owned<cl_kernel> kernel;
    Owned<cl_event> done;
  };
  static auto& work = *new std::list<Work>;
  for (cl_uint i = 0; i < device_count; ++i) {
    auto& [queue, buffer, kernel, done] = work.emplace_back();
    queue = make_queue(context, devices[i]);
    buffer = make_buffer(context, host.size());
    kernel = make_kernel(program, "spin");
    check(set_arg(kernel, 0, buffer));
    check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, host.size(), host.data(), 0, nullptr, nullptr));
    check(run(queue, kernel, 16, {}, done.out()));
    check(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, host.size(), host.data(), 0, nullptr, nullptr));
    check(clSetEventCallback(
        done, CL_COMPLETE, [](cl_event, cl_int, void*) { ::usleep(1000); }, nullptr));
    if (how != "unflushed") check(clFlush(queue));
    if (how == "waiting") {
      std::thread([&queue = queue] { clFinish(queue); }).detach();
      ::usleep(2000);
    }
  }
  if (how == "exit") std::exit(3);
  if (how == "quick") std::quick_exit(3);
  return 3;
}
