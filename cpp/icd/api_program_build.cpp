// Building, compiling and linking.
#include <algorithm>

#include "icd/boundary.h"
#include "runtime/client/objects/platform.h"
#include "runtime/client/program/program.h"
#include "runtime/client/support/callback_thread.h"

namespace {

using namespace remotecl;
using icd::object;
using icd::require;

// The device list of a call. NULL means all of `known`, the devices of the program or context.
std::vector<Device*> devices_of(const std::vector<Device*>& known, cl_uint count, const cl_device_id* list) {
  // "CL_INVALID_VALUE if device_list is NULL and num_devices is greater than zero, or if device_list is not NULL and
  // num_devices is zero."
  require((list == nullptr) == (count == 0), CL_INVALID_VALUE);
  if (list == nullptr) return known;
  std::vector<Device*> devices;
  for (cl_uint i = 0; i < count; ++i) {
    Device* device = from_handle<Device>(list[i]);
    // "CL_INVALID_DEVICE if any device in device_list is not in the list of devices associated with program."
    require(device != nullptr && std::find(known.begin(), known.end(), device) != known.end(), CL_INVALID_DEVICE);
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
  }
  // A build for a device also serves the program's sub-devices of it.
  for (Device* part : known) {
    if (std::find(devices.begin(), devices.end(), part) != devices.end()) continue;
    for (Device* whole = part->parent(); whole != nullptr; whole = whole->parent()) {
      if (std::find(devices.begin(), devices.end(), whole) == devices.end()) continue;
      devices.push_back(part);
      break;
    }
  }
  return devices;
}

Program::Notify notify_of(Program::Callback callback, void* user_data) {
  // "CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL."
  require(callback != nullptr || user_data == nullptr, CL_INVALID_VALUE);
  require(callback == nullptr || can_call_back(), CL_OUT_OF_RESOURCES);
  return {callback, user_data};
}

std::string text_of(const char* options) { return options == nullptr ? "" : options; }

bool comes_from_source(const Program& program) {
  return program.code().origin == ProgramOrigin::kSource || program.code().origin == ProgramOrigin::kIl;
}

bool is_compiled_for(const Program& program, const Device& device) {
  const cl_program_binary_type type = program.build_info(device).binary_type;
  return type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT || type == CL_PROGRAM_BINARY_TYPE_LIBRARY;
}

std::vector<Program::Included> included_of(cl_uint count, const cl_program* programs, const char** names) {
  // "CL_INVALID_VALUE if num_input_headers is zero and header_include_names or input_headers are not NULL or if
  // num_input_headers is not zero and header_include_names or input_headers are NULL."
  require((count == 0) == (programs == nullptr) && (count == 0) == (names == nullptr), CL_INVALID_VALUE);
  std::vector<Program::Included> included;
  for (cl_uint i = 0; i < count; ++i) {
    Program& other = object<Program>(programs[i]);
    require(other.code().origin == ProgramOrigin::kSource, CL_INVALID_PROGRAM);
    require(names[i] != nullptr, CL_INVALID_VALUE);
    included.push_back({Ref<Program>(&other), names[i]});
  }
  return included;
}

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint num_devices, const cl_device_id* device_list,
                                               const char* options, Program::Callback callback, void* user_data) {
  return icd::enter([&] {
    Program& of = object<Program>(program);
    const Program::Notify notify = notify_of(callback, user_data);
    const std::vector<Device*> devices = devices_of(of.named_devices(), num_devices, device_list);
    // "CL_INVALID_OPERATION if program was not created with clCreateProgramWithSource, clCreateProgramWithIL or
    // clCreateProgramWithBinary."
    require(comes_from_source(of) || of.code().origin == ProgramOrigin::kBinaries, CL_INVALID_OPERATION);
    return of.build(devices, text_of(options), notify);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clCompileProgram(cl_program program, cl_uint num_devices,
                                                 const cl_device_id* device_list, const char* options,
                                                 cl_uint num_headers, const cl_program* headers, const char** names,
                                                 Program::Callback callback, void* user_data) {
  return icd::enter([&] {
    Program& of = object<Program>(program);
    const Program::Notify notify = notify_of(callback, user_data);
    const std::vector<Device*> devices = devices_of(of.named_devices(), num_devices, device_list);
    std::vector<Program::Included> included = included_of(num_headers, headers, names);
    // "CL_INVALID_OPERATION if program has no source or IL available, i.e. it has not been created with
    // clCreateProgramWithSource or clCreateProgramWithIL."
    require(comes_from_source(of), CL_INVALID_OPERATION);
    return of.compile(devices, text_of(options), std::move(included), notify);
  });
}

CL_API_ENTRY cl_program CL_API_CALL clLinkProgram(cl_context context, cl_uint num_devices,
                                                  const cl_device_id* device_list, const char* options,
                                                  cl_uint num_programs, const cl_program* programs,
                                                  Program::Callback callback, void* user_data, cl_int* errcode_ret) {
  cl_int error = CL_SUCCESS;
  const cl_program linked = icd::create(errcode_ret, [&] {
    Context& in = object<Context>(context);
    const Program::Notify notify = notify_of(callback, user_data);
    const std::vector<Device*> named = devices_of(in.named_devices(), num_devices, device_list);
    const std::vector<Device*> devices = with_members(named);
    // "CL_INVALID_VALUE if num_input_programs is zero and input_programs is NULL", or one of them only.
    require(num_programs != 0 && programs != nullptr, CL_INVALID_VALUE);
    std::vector<Ref<Program>> inputs;
    for (cl_uint i = 0; i < num_programs; ++i) inputs.emplace_back(&object<Program>(programs[i]));
    std::vector<Device*> able;
    bool has_living = false, has_inputs = false;
    for (Device* device : devices) {
      if (device->lost()) {  // its inputs may be older than the loss; it fails by itself
        able.push_back(device);
        continue;
      }
      const auto count = std::count_if(inputs.begin(), inputs.end(), [device](const Ref<Program>& input) {
        return is_compiled_for(*input, *device);
      });
      // "All programs specified by input_programs contain a compiled binary or library for the device", or none, and
      // then "no link is performed"; "all other cases will return a CL_INVALID_OPERATION error."
      require(count == 0 || static_cast<std::size_t>(count) == inputs.size(), CL_INVALID_OPERATION);
      if (count != 0) able.push_back(device);
      has_living = true;
      has_inputs = has_inputs || count != 0;
    }
    require(has_inputs || !has_living, CL_INVALID_OPERATION);
    auto program = make_ref<Program>(Ref<Context>(&in), devices, ProgramCode{ProgramOrigin::kLink, {}, {}, {}}, named);
    error = program->link(able, text_of(options), std::move(inputs), notify);
    // "If the linking operation can begin, clLinkProgram returns a valid non-zero program object": it has the log.
    require(error == CL_SUCCESS || error == CL_LINK_PROGRAM_FAILURE, error);
    return program.detach()->handle();
  });
  if (linked != nullptr && errcode_ret != nullptr) *errcode_ret = error;
  return linked;
}

CL_API_ENTRY cl_int CL_API_CALL clUnloadCompiler() { return CL_SUCCESS; }

// Only a hint. The servers' compilers serve other sessions too, so they stay loaded.
CL_API_ENTRY cl_int CL_API_CALL clUnloadPlatformCompiler(cl_platform_id platform) {
  return icd::enter([&] { object<Platform>(platform); });
}
