#include "server/program/source_counter.h"

#include <CL/cl.h>
#include <dlfcn.h>

std::atomic<int> remotecl::testing::sources{0};

// In front of the loader.
extern "C" __attribute__((visibility("default"))) cl_program clCreateProgramWithSource(
    cl_context context, cl_uint count, const char** strings, const size_t* sizes, cl_int* error) {
  static const auto next =
      reinterpret_cast<decltype(&clCreateProgramWithSource)>(::dlsym(RTLD_NEXT, "clCreateProgramWithSource"));
  ++remotecl::testing::sources;
  return next(context, count, strings, sizes, error);
}
