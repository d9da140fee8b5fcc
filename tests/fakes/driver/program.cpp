// Programs. Each word "k_..." of a program's code is a kernel, whose arguments the letters spell, and so is each of the
// names in built_in.cpp; code with the word "error" does not build, nor with the word "unasked" if the build asks for
// kernels' arguments.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "fakes/driver/built_in.h"
#include "fakes/driver/objects.h"
#include "runtime/base/mutex.h"

namespace remotecl::fake {
namespace {

const std::string kBinary = "BINARY:";
// What a binary begins with.
const std::vector<std::pair<std::string, cl_program_binary_type>> kPrefixes = {
    {"BINARY:object:", CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT},
    {"BINARY:library:", CL_PROGRAM_BINARY_TYPE_LIBRARY},
    {kBinary, CL_PROGRAM_BINARY_TYPE_NONE}};  // an executable, when it is built

std::string binary_of(cl_program program) {
  const auto of_type = std::ranges::find(kPrefixes, program->type, &decltype(kPrefixes)::value_type::second);
  return (of_type == kPrefixes.end() ? kBinary : of_type->first) + program->code;
}

cl_int build(cl_program program, cl_program_binary_type type, const std::string& code, const char* options) {
  if (!program->context->device->has_compiler() && !program->is_binary) return CL_COMPILER_NOT_AVAILABLE;
  program->describes_arguments = std::strstr(options, "-cl-kernel-arg-info") != nullptr;
  const bool fails = code.find("error") != std::string::npos || std::strstr(options, "-Werror") != nullptr ||
                     (program->describes_arguments && code.find("unasked") != std::string::npos);
  program->log = fails ? "the code has an error" : "";
  program->status = fails ? CL_BUILD_ERROR : CL_BUILD_SUCCESS;
  program->type = fails ? CL_PROGRAM_BINARY_TYPE_NONE : type;
  program->kernels = fails || type != CL_PROGRAM_BINARY_TYPE_EXECUTABLE ? std::vector<std::string>() : kernels_in(code);
  return fails ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
}

// Returns false if too few builds have come after ten seconds.
bool await_other_builds() {
  static Mutex mutex;
  static ConditionVariable has_come;
  static std::uint64_t come = 0;
  const std::uint64_t together = builds_at_once();
  if (together < 2) return true;
  MutexLock lock(mutex);
  const std::uint64_t awaited = (come++ / together + 1) * together;
  has_come.notify_all();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (come < awaited) {
    if (has_come.wait_until(lock, deadline) == std::cv_status::timeout) return false;
  }
  return true;
}

}  // namespace
}  // namespace remotecl::fake

using namespace remotecl::fake;

cl_program clCreateProgramWithSource(cl_context context, cl_uint, const char** strings, const std::size_t* sizes,
                                     cl_int* error) {
  const DriverLock lock(driver_mutex());
  if (!is(context, kContext)) return failed<_cl_program>(CL_INVALID_CONTEXT, error);
  return made(new _cl_program(context, std::string(strings[0], sizes[0])), error);
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint, const cl_device_id*, const std::size_t* sizes,
                                     const unsigned char** binaries, cl_int* status, cl_int* error) {
  const DriverLock lock(driver_mutex());
  const std::string code(reinterpret_cast<const char*>(binaries[0]), sizes[0]);
  *status = code.starts_with(kBinary) ? CL_SUCCESS : CL_INVALID_BINARY;
  if (*status != CL_SUCCESS) return failed<_cl_program>(CL_INVALID_BINARY, error);
  const auto kind = std::ranges::find_if(kPrefixes, [&code](const auto& each) { return code.starts_with(each.first); });
  auto* program = new _cl_program(context, code.substr(kind->first.size()));
  program->is_binary = true;
  program->type = kind->second;
  return made(program, error);
}

cl_program clCreateProgramWithIL(cl_context context, const void* code, std::size_t size, cl_int* error) {
  const DriverLock lock(driver_mutex());
  if (size == 0) return failed<_cl_program>(CL_INVALID_VALUE, error);
  if (!context->device->has_compiler()) return failed<_cl_program>(CL_INVALID_OPERATION, error);
  return made(new _cl_program(context, std::string(static_cast<const char*>(code), size)), error);
}

cl_program clCreateProgramWithBuiltInKernels(cl_context context, cl_uint, const cl_device_id*, const char* names,
                                             cl_int* error) {
  const DriverLock lock(driver_mutex());
  auto* program = new _cl_program(context, names);
  program->kernels = kernels_in(program->code);
  program->status = CL_BUILD_SUCCESS;
  return made(program, error);
}

cl_int clSetProgramSpecializationConstant(cl_program program, cl_uint constant, std::size_t size, const void* value) {
  const DriverLock lock(driver_mutex());
  if (!is(program, kProgram)) return CL_INVALID_PROGRAM;
  if (constant > 3 || size != 4) return CL_INVALID_SPEC_ID;
  std::uint32_t number = 0;
  std::memcpy(&number, value, sizeof number);
  program->log = std::to_string(number);
  return CL_SUCCESS;
}

cl_int clBuildProgram(cl_program program, cl_uint, const cl_device_id*, const char* options,
                      void(CL_CALLBACK*)(cl_program, void*), void*) {
  if (!await_other_builds()) return CL_OUT_OF_RESOURCES;
  const DriverLock lock(driver_mutex());
  if (!is(program, kProgram)) return CL_INVALID_PROGRAM;
  return build(program, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, program->code, options);
}

cl_int clCompileProgram(cl_program program, cl_uint, const cl_device_id*, const char* options, cl_uint count,
                        const cl_program* headers, const char** names, void(CL_CALLBACK*)(cl_program, void*), void*) {
  const DriverLock lock(driver_mutex());
  if (!is(program, kProgram)) return CL_INVALID_PROGRAM;
  for (cl_uint i = 0; i < count; ++i) {
    if (!is(headers[i], kProgram) || std::strlen(names[i]) == 0) return CL_INVALID_VALUE;
    program->code += headers[i]->code;
  }
  if (program->code.size() > (1u << 20)) return CL_COMPILE_PROGRAM_FAILURE;
  return build(program, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, program->code, options);
}

cl_program clLinkProgram(cl_context context, cl_uint, const cl_device_id*, const char* options, cl_uint count,
                         const cl_program* inputs, void(CL_CALLBACK*)(cl_program, void*), void*, cl_int* error) {
  const DriverLock lock(driver_mutex());
  if (count == 0) return failed<_cl_program>(CL_INVALID_VALUE, error);
  std::string code;
  bool are_binaries = true;
  for (cl_uint i = 0; i < count; ++i) {
    if (!is(inputs[i], kProgram) || inputs[i]->type == CL_PROGRAM_BINARY_TYPE_NONE) {
      return failed<_cl_program>(CL_INVALID_OPERATION, error);
    }
    code += inputs[i]->code;
    are_binaries = are_binaries && inputs[i]->is_binary;
  }
  if (code.size() > (1u << 20)) return failed<_cl_program>(CL_OUT_OF_RESOURCES, error);
  auto* program = new _cl_program(context, code);
  program->is_binary = are_binaries;
  const bool is_library = std::strstr(options, "-create-library") != nullptr;
  const cl_int built =
      build(program, is_library ? CL_PROGRAM_BINARY_TYPE_LIBRARY : CL_PROGRAM_BINARY_TYPE_EXECUTABLE, code, options);
  if (error != nullptr) *error = built == CL_SUCCESS ? CL_SUCCESS : CL_LINK_PROGRAM_FAILURE;
  return program;
}

cl_int clRetainProgram(cl_program program) {
  const DriverLock lock(driver_mutex());
  retain(program);
  return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program program) {
  const DriverLock lock(driver_mutex());
  if (!is(program, kProgram)) return CL_INVALID_PROGRAM;
  release(program);
  return CL_SUCCESS;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info name, std::size_t size, void* value,
                        std::size_t* size_ret) {
  const DriverLock lock(driver_mutex());
  if (!is(program, kProgram)) return CL_INVALID_PROGRAM;
  if (name == CL_PROGRAM_DEVICES) return answer<cl_device_id>(program->context->device.get(), size, value, size_ret);
  const std::string binary = binary_of(program);
  const bool is_built = program->status == CL_BUILD_SUCCESS;
  if (name == CL_PROGRAM_BINARY_SIZES) return answer(is_built ? binary.size() : 0, size, value, size_ret);
  if (name != CL_PROGRAM_BINARIES || !is_built) return CL_INVALID_VALUE;
  std::memcpy(*static_cast<void**>(value), binary.data(), binary.size());
  return CL_SUCCESS;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id, cl_program_build_info name, std::size_t size,
                             void* value, std::size_t* size_ret) {
  const DriverLock lock(driver_mutex());
  if (!is(program, kProgram)) return CL_INVALID_PROGRAM;
  switch (name) {
    case CL_PROGRAM_BUILD_STATUS:
      return answer(program->status, size, value, size_ret);
    case CL_PROGRAM_BUILD_LOG:
      return answer_text(program->log, size, value, size_ret);
    case CL_PROGRAM_BINARY_TYPE:
      return answer(program->type, size, value, size_ret);
    case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE:
      return answer<std::size_t>(program->code.find("variable") == std::string::npos ? 0 : 4, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_kernel clCreateKernel(cl_program program, const char* name, cl_int* error) {
  const DriverLock lock(driver_mutex());
  if (!is(program, kProgram)) return failed<_cl_kernel>(CL_INVALID_PROGRAM, error);
  const auto& all = program->kernels;
  if (std::find(all.begin(), all.end(), name) == all.end()) return failed<_cl_kernel>(CL_INVALID_KERNEL_NAME, error);
  return made(new _cl_kernel(program, name), error);
}

cl_int clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel* kernels, cl_uint* count_ret) {
  const DriverLock lock(driver_mutex());
  if (!is(program, kProgram)) return CL_INVALID_PROGRAM;
  if (kernels != nullptr && count < program->kernels.size()) return CL_INVALID_VALUE;
  for (std::size_t i = 0; kernels != nullptr && i < program->kernels.size(); ++i) {
    kernels[i] = new _cl_kernel(program, program->kernels[i]);
  }
  if (count_ret != nullptr) *count_ret = static_cast<cl_uint>(program->kernels.size());
  return CL_SUCCESS;
}
