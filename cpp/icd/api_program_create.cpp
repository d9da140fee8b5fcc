// Programs from source, binaries, intermediate language and built-in kernels.
#include <algorithm>
#include <sstream>

#include "icd/boundary.h"
#include "runtime/client/program/binary_bundle.h"
#include "runtime/client/program/program.h"
#include "runtime/client/support/stderr_notice.h"

namespace {

using namespace remotecl;
using icd::object;
using icd::require;

std::vector<Device*> devices_of(Context& context, cl_uint count, const cl_device_id* list) {
  // "CL_INVALID_VALUE if device_list is NULL or num_devices is zero."
  require(list != nullptr && count != 0, CL_INVALID_VALUE);
  std::vector<Device*> devices;
  for (cl_uint i = 0; i < count; ++i) {
    Device* device = from_handle<Device>(list[i]);
    // "CL_INVALID_DEVICE if any device in device_list is not in the list of devices associated with context."
    require(device != nullptr && context.contains(*device), CL_INVALID_DEVICE);
    devices.push_back(device);
  }
  return devices;
}

Ref<Program> make_program(Context& context, std::vector<Device*> devices, ProgramCode code,
                          const std::vector<Device*>& named) {
  const auto fits = [](const auto& part) { return part.size() <= kProgramSizeMax; };
  require(fits(code.text) && std::ranges::all_of(code.parts, fits), CL_OUT_OF_RESOURCES);
  return make_ref<Program>(Ref<Context>(&context), std::move(devices), std::move(code), named);
}

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  std::istringstream stream(names);
  for (std::string name; std::getline(stream, name, ';');) parts.push_back(name);
  return parts;
}

std::vector<std::byte> to_bytes(const std::string& text) {
  const Bytes bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

// The `wanted` kernels that each device has; `found` marks the names that some device has.
std::vector<std::vector<std::byte>> built_in_kernels(const std::vector<Device*>& devices,
                                                     const std::vector<std::string>& wanted) {
  std::vector<std::vector<std::byte>> parts;
  std::vector<bool> found(wanted.size());
  for (const Device* device : devices) {
    const std::vector<std::string> known = split(device->text(CL_DEVICE_BUILT_IN_KERNELS));
    std::string names;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (std::find(known.begin(), known.end(), wanted[i]) == known.end()) continue;
      names += (names.empty() ? "" : ";") + wanted[i];
      found[i] = true;
    }
    parts.push_back(to_bytes(names));
  }
  // "CL_INVALID_VALUE if kernel_names is NULL or kernel_names contains a kernel name that is not supported by any of
  // the devices in device_list."
  require(!wanted.empty() && std::find(found.begin(), found.end(), false) == found.end(), CL_INVALID_VALUE);
  return parts;
}

void add_container(const Device& device, Bytes binary, ProgramCode& code) {
  if (is_recipe(binary)) check_recipe(binary, device);
  BinaryContainer container = unpack_binary(binary);
  code.parts.push_back(std::move(container.native));
  code.contained.push_back(std::move(container.kernels));
}

// Takes our own or a native binary for `device`, or a bundle for those of its members that have one, and adds them to
// `devices`. There is no program yet to report an error through,
// so the context's callback and a notice do.
bool take_binary(const Context& context, Device& device, Bytes binary, ProgramCode& code,
                 std::vector<Device*>& devices) {
  try {
    if (!device.is_automatic()) {
      add_container(device, binary, code);
      devices.push_back(&device);
      return true;
    }
    const auto binaries = unpack_bundle(device.members(), binary);
    for (std::size_t i = 0; i < binaries.size(); ++i) {
      if (binaries[i].empty()) continue;
      add_container(*device.members()[i], binaries[i], code);
      devices.push_back(device.members()[i]);
    }
    return true;
  } catch (const BinaryError& error) {
    const std::string text = std::string("a program binary cannot be used: ") + error.what();
    context.notify(text);
    notice(text);
    return false;
  }
}

}  // namespace

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                                              const size_t* lengths, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    Context& in = object<Context>(context);
    // "CL_INVALID_VALUE if count is zero or if strings or any entry in strings is NULL."
    require(count != 0 && strings != nullptr, CL_INVALID_VALUE);
    ProgramCode code;
    for (cl_uint i = 0; i < count; ++i) {
      require(strings[i] != nullptr, CL_INVALID_VALUE);
      if (lengths != nullptr && lengths[i] != 0) {
        code.text.append(strings[i], lengths[i]);
      } else {
        code.text.append(strings[i]);
      }
    }
    return make_program(in, in.devices(), std::move(code), in.named_devices()).detach()->handle();
  });
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithBinary(cl_context context, cl_uint num_devices,
                                                              const cl_device_id* device_list, const size_t* lengths,
                                                              const unsigned char** binaries, cl_int* binary_status,
                                                              cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    Context& in = object<Context>(context);
    const std::vector<Device*> named = devices_of(in, num_devices, device_list);
    std::vector<Device*> devices;
    require(lengths != nullptr && binaries != nullptr, CL_INVALID_VALUE);
    ProgramCode code{ProgramOrigin::kBinaries, {}, {}, {}};
    bool valid = true, taken = true;
    for (cl_uint i = 0; i < num_devices; ++i) {
      // "CL_INVALID_VALUE if lengths[i] is zero or if binaries[i] is NULL", reported per device in binary_status.
      const bool usable = lengths[i] != 0 && binaries[i] != nullptr;
      if (binary_status != nullptr) binary_status[i] = usable ? CL_SUCCESS : CL_INVALID_VALUE;
      valid = valid && usable;
      if (!valid) continue;
      const bool good =
          take_binary(in, *named[i], Bytes(reinterpret_cast<const std::byte*>(binaries[i]), lengths[i]), code, devices);
      if (!good && binary_status != nullptr) binary_status[i] = CL_INVALID_BINARY;
      taken = taken && good;
    }
    require(valid, CL_INVALID_VALUE);
    require(taken, CL_INVALID_BINARY);
    const Ref<Program> program = make_program(in, devices, std::move(code), named);
    // "CL_INVALID_BINARY if an invalid program binary was encountered for any device": the servers check
    // that.
    const cl_int error = program->inspect(devices);
    for (cl_uint i = 0; i < num_devices && binary_status != nullptr; ++i) {
      binary_status[i] = program->build_info(*named[i]).error;
    }
    require(error == CL_SUCCESS, error);
    return Ref<Program>(program).detach()->handle();
  });
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithIL(cl_context context, const void* il, size_t length,
                                                          cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    Context& in = object<Context>(context);
    // "CL_INVALID_VALUE if il is NULL or if length is zero."
    require(il != nullptr && length != 0, CL_INVALID_VALUE);
    std::vector<Device*> able;
    for (Device* device : in.devices()) {
      if (device->takes_il()) able.push_back(device);
    }
    // "CL_INVALID_OPERATION if no devices in context support intermediate language programs."
    require(!able.empty(), CL_INVALID_OPERATION);
    ProgramCode code{ProgramOrigin::kIl, std::string(static_cast<const char*>(il), length), {}, {}};
    const Ref<Program> program = make_program(in, in.devices(), std::move(code), in.named_devices());
    const cl_int error = program->inspect(able);
    require(error == CL_SUCCESS, error);
    return Ref<Program>(program).detach()->handle();
  });
}

CL_API_ENTRY cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program program, cl_uint constant, size_t size,
                                                                   const void* value) {
  return icd::enter([&] {
    Program& of = object<Program>(program);
    // "CL_INVALID_OPERATION if no devices associated with program support intermediate language programs."
    require(std::any_of(of.devices().begin(), of.devices().end(), [](Device* device) { return device->takes_il(); }),
            CL_INVALID_OPERATION);
    // "CL_INVALID_PROGRAM if program is not a valid program object created from an intermediate language."
    require(of.code().origin == ProgramOrigin::kIl, CL_INVALID_PROGRAM);
    require(value != nullptr && size != 0, CL_INVALID_VALUE);
    return of.specialize(constant, Bytes(static_cast<const std::byte*>(value), size));
  });
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context context, cl_uint num_devices,
                                                                      const cl_device_id* device_list,
                                                                      const char* names, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    Context& in = object<Context>(context);
    const std::vector<Device*> named = devices_of(in, num_devices, device_list);
    const std::vector<Device*> devices = with_members(named);
    require(names != nullptr, CL_INVALID_VALUE);
    ProgramCode code{ProgramOrigin::kBuiltInKernels, {}, built_in_kernels(devices, split(names)), {}};
    std::vector<Device*> able;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!code.parts[i].empty()) able.push_back(devices[i]);
    }
    const Ref<Program> program = make_program(in, devices, std::move(code), named);
    const cl_int error = program->inspect(able);
    require(error == CL_SUCCESS, error);
    return Ref<Program>(program).detach()->handle();
  });
}

CL_API_ENTRY cl_int CL_API_CALL clRetainProgram(cl_program program) { return icd::retain<Program>(program); }
CL_API_ENTRY cl_int CL_API_CALL clReleaseProgram(cl_program program) { return icd::release<Program>(program); }

CL_API_ENTRY cl_int CL_API_CALL clSetProgramReleaseCallback(cl_program program, Program::Callback callback, void*) {
  return icd::enter([&] {
    object<Program>(program);
    require(callback != nullptr, CL_INVALID_VALUE);
    // "CL_INVALID_OPERATION if no devices in context support destructors for program scope global variables":
    // no driver reports support.
    throw icd::ApiError{CL_INVALID_OPERATION};
  });
}
