#include "server/program/source_counter.h"

#include <CL/cl.h>
#include <dlfcn.h>

std::atomic<int> remotecl::testing::sources{0};
std::atomic<int> remotecl::testing::links{0};
std::atomic<bool> remotecl::testing::hides_objects{false};

namespace {

std::atomic<bool> g_holds_builds{false};
std::atomic<int> g_waiting{0};

template <class Function>
Function* next(const char* name, Function*) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_object(cl_program program) {
  cl_device_id device = nullptr;
  cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
  clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof device, &device, nullptr);
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BINARY_TYPE, sizeof type, &type, nullptr);
  return type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
}

}  // namespace

int remotecl::testing::HeldBuilds::waiting() { return g_waiting; }
remotecl::testing::HeldBuilds::HeldBuilds() { g_holds_builds = true; }
remotecl::testing::HeldBuilds::~HeldBuilds() {
  g_holds_builds = false;
  g_holds_builds.notify_all();
}

// In front of the loader.
#pragma GCC visibility push(default)
extern "C" {

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings, const size_t* sizes,
                                     cl_int* error) {
  static auto* const call = next("clCreateProgramWithSource", &clCreateProgramWithSource);
  ++remotecl::testing::sources;
  return call(context, count, strings, sizes, error);
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                      void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  static auto* const call = next("clBuildProgram", &clBuildProgram);
  ++g_waiting;
  g_holds_builds.wait(true);
  --g_waiting;
  return call(program, count, devices, options, notify, data);
}

cl_program clLinkProgram(cl_context context, cl_uint devices_count, const cl_device_id* devices, const char* options,
                         cl_uint count, const cl_program* inputs, void(CL_CALLBACK* notify)(cl_program, void*),
                         void* data, cl_int* error) {
  static auto* const call = next("clLinkProgram", &clLinkProgram);
  ++remotecl::testing::links;
  return call(context, devices_count, devices, options, count, inputs, notify, data, error);
}

cl_int clGetProgramInfo(cl_program program, cl_program_info name, size_t size, void* value, size_t* size_ret) {
  static auto* const call = next("clGetProgramInfo", &clGetProgramInfo);
  if (name != CL_PROGRAM_BINARY_SIZES || !remotecl::testing::hides_objects || !is_object(program)) {
    return call(program, name, size, value, size_ret);
  }
  *static_cast<size_t*>(value) = 0;
  return CL_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
