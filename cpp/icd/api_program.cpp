#include <algorithm>
#include <sstream>

#include "icd/info.h"
#include "runtime/client/program.h"

namespace {

using namespace remotecl;
using icd::InfoSink;
using icd::object;
using icd::require;

// A device list of a call: NULL means all devices of the program.
std::vector<Device*> devices_of(Program& program, cl_uint count, const cl_device_id* list) {
  // "CL_INVALID_VALUE if device_list is NULL and num_devices is greater than zero, or the other way round."
  require((list == nullptr) == (count == 0), CL_INVALID_VALUE);
  if (list == nullptr) return program.devices();
  std::vector<Device*> devices;
  for (cl_uint i = 0; i < count; ++i) {
    Device* device = from_handle<Device>(list[i]);
    const auto& known = program.devices();
    // "CL_INVALID_DEVICE if any device in device_list is not in the list of devices associated with program."
    require(device != nullptr && std::find(known.begin(), known.end(), device) != known.end(), CL_INVALID_DEVICE);
    devices.push_back(device);
  }
  // What is built for a device is built for the parts of it that the program knows.
  for (Device* known : program.devices()) {
    if (std::find(devices.begin(), devices.end(), known) != devices.end()) continue;
    for (Device* whole = known->parent(); whole != nullptr; whole = whole->parent()) {
      if (std::find(devices.begin(), devices.end(), whole) == devices.end()) continue;
      devices.push_back(known);
      break;
    }
  }
  return devices;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ";") + name;
  return text;
}

std::vector<std::vector<std::byte>> binaries_of(Program& program) {
  std::vector<std::vector<std::byte>> binaries(program.devices().size());
  for (std::size_t i = 0; i < binaries.size(); ++i) {
    const cl_int error = program.binary(*program.devices()[i], binaries[i]);
    require(error == CL_SUCCESS, error);
  }
  return binaries;
}

using Row = icd::InfoRow<Program, void*>;
const Row kProgramInfo[] = {
    {CL_PROGRAM_REFERENCE_COUNT, [](Program& p, const InfoSink& sink, void*) { sink.value(p.handle_count()); }},
    {CL_PROGRAM_CONTEXT, [](Program& p, const InfoSink& sink, void*) { sink.value(p.context().handle()); }},
    {CL_PROGRAM_NUM_DEVICES,
     [](Program& p, const InfoSink& sink, void*) { sink.value(static_cast<cl_uint>(p.devices().size())); }},
    {CL_PROGRAM_DEVICES,
     [](Program& p, const InfoSink& sink, void*) {
       std::vector<cl_device_id> handles;
       for (Device* device : p.devices()) handles.push_back(device->handle());
       sink.list(handles);
     }},
    {CL_PROGRAM_SOURCE, [](Program& p, const InfoSink& sink, void*) { sink.text(p.source()); }},
    {CL_PROGRAM_IL, [](Program&, const InfoSink& sink, void*) { sink.bytes(nullptr, 0); }},
    {CL_PROGRAM_NUM_KERNELS,
     [](Program& p, const InfoSink& sink, void*) {
       require(p.any_built(), CL_INVALID_PROGRAM_EXECUTABLE);
       sink.value(p.kernel_names().size());
     }},
    {CL_PROGRAM_KERNEL_NAMES,
     [](Program& p, const InfoSink& sink, void*) {
       require(p.any_built(), CL_INVALID_PROGRAM_EXECUTABLE);
       sink.text(joined(p.kernel_names()));
     }},
    {CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT,
     [](Program&, const InfoSink& sink, void*) { sink.value<cl_bool>(CL_FALSE); }},
    {CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT,
     [](Program&, const InfoSink& sink, void*) { sink.value<cl_bool>(CL_FALSE); }},
    {CL_PROGRAM_BINARY_SIZES,
     [](Program& p, const InfoSink& sink, void*) {
       std::vector<std::size_t> sizes;
       for (const auto& binary : binaries_of(p)) sizes.push_back(binary.size());
       sink.list(sizes);
     }},
    {CL_PROGRAM_BINARIES,
     [](Program& p, const InfoSink& sink, void* value) {
       std::vector<unsigned char*> targets(p.devices().size());
       if (value == nullptr) return sink.list(targets);
       // "param_value points to an array of pointers": filled only after its size has been found right.
       std::vector<unsigned char*> checked(targets.size());
       std::memcpy(checked.data(), value, sizeof(void*) * checked.size());
       const auto binaries = binaries_of(p);
       for (std::size_t i = 0; i < binaries.size(); ++i) {
         if (checked[i] != nullptr)
           std::copy(binaries[i].begin(), binaries[i].end(), reinterpret_cast<std::byte*>(checked[i]));
       }
       sink.list(checked);
     }},
};

using BuildRow = icd::InfoRow<DeviceBuildInfo>;
const BuildRow kBuildInfo[] = {
    {CL_PROGRAM_BUILD_STATUS, [](DeviceBuildInfo& b, const InfoSink& sink) { sink.value(b.status); }},
    {CL_PROGRAM_BUILD_OPTIONS, [](DeviceBuildInfo& b, const InfoSink& sink) { sink.text(b.options); }},
    {CL_PROGRAM_BUILD_LOG, [](DeviceBuildInfo& b, const InfoSink& sink) { sink.text(b.log); }},
    {CL_PROGRAM_BINARY_TYPE, [](DeviceBuildInfo& b, const InfoSink& sink) { sink.value(b.binary_type); }},
    {CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
     [](DeviceBuildInfo&, const InfoSink& sink) { sink.value<std::size_t>(0); }},
};

}  // namespace

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                                              const size_t* lengths, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    Context& in = object<Context>(context);
    // "CL_INVALID_VALUE if count is zero or if strings or any entry in strings is NULL."
    require(count != 0 && strings != nullptr, CL_INVALID_VALUE);
    std::string source;
    for (cl_uint i = 0; i < count; ++i) {
      require(strings[i] != nullptr, CL_INVALID_VALUE);
      if (lengths != nullptr && lengths[i] != 0) {
        source.append(strings[i], lengths[i]);
      } else {
        source.append(strings[i]);
      }
    }
    return make_ref<Program>(Ref<Context>(&in), std::move(source)).detach()->handle();
  });
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithBinary(cl_context context, cl_uint num_devices,
                                                              const cl_device_id* device_list, const size_t* lengths,
                                                              const unsigned char** binaries, cl_int* binary_status,
                                                              cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    Context& in = object<Context>(context);
    require(device_list != nullptr && num_devices != 0, CL_INVALID_VALUE);
    require(lengths != nullptr && binaries != nullptr, CL_INVALID_VALUE);
    std::vector<Device*> devices;
    std::vector<std::vector<std::byte>> copies;
    bool valid = true;
    for (cl_uint i = 0; i < num_devices; ++i) {
      Device* device = from_handle<Device>(device_list[i]);
      require(device != nullptr && in.contains(*device), CL_INVALID_DEVICE);
      // "CL_INVALID_VALUE if lengths[i] is zero or if binaries[i] is NULL", reported per device in binary_status.
      const bool usable = lengths[i] != 0 && binaries[i] != nullptr;
      if (binary_status != nullptr) binary_status[i] = usable ? CL_SUCCESS : CL_INVALID_VALUE;
      valid = valid && usable;
      if (!usable) continue;
      const auto* bytes = reinterpret_cast<const std::byte*>(binaries[i]);
      devices.push_back(device);
      copies.emplace_back(bytes, bytes + lengths[i]);
    }
    require(valid, CL_INVALID_VALUE);
    return make_ref<Program>(Ref<Context>(&in), std::move(devices), std::move(copies)).detach()->handle();
  });
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context context, cl_uint num_devices,
                                                                      const cl_device_id* device_list,
                                                                      const char* names, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&]() -> cl_program {
    Context& in = object<Context>(context);
    require(device_list != nullptr && num_devices != 0 && names != nullptr, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < num_devices; ++i) {
      Device* device = from_handle<Device>(device_list[i]);
      require(device != nullptr && in.contains(*device), CL_INVALID_DEVICE);
    }
    throw icd::ApiError{CL_INVALID_VALUE};  // "... a kernel name that is not supported by any of the devices": none is
  });
}

CL_API_ENTRY cl_int CL_API_CALL clRetainProgram(cl_program program) { return icd::retain<Program>(program); }
CL_API_ENTRY cl_int CL_API_CALL clReleaseProgram(cl_program program) { return icd::release<Program>(program); }

CL_API_ENTRY cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint num_devices, const cl_device_id* device_list,
                                               const char* options, Program::Callback callback, void* user_data) {
  return icd::enter([&] {
    Program& of = object<Program>(program);
    // "CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL."
    require(callback != nullptr || user_data == nullptr, CL_INVALID_VALUE);
    const std::vector<Device*> devices = devices_of(of, num_devices, device_list);
    return of.build(devices, options == nullptr ? "" : options, callback, user_data);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clCompileProgram(cl_program program, cl_uint, const cl_device_id*, const char*, cl_uint,
                                                 const cl_program*, const char**, Program::Callback, void*) {
  return icd::enter([&] {
    object<Program>(program);
    throw icd::ApiError{CL_COMPILER_NOT_AVAILABLE};
  });
}

CL_API_ENTRY cl_program CL_API_CALL clLinkProgram(cl_context context, cl_uint, const cl_device_id*, const char*,
                                                  cl_uint, const cl_program*, Program::Callback, void*,
                                                  cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&]() -> cl_program {
    object<Context>(context);
    throw icd::ApiError{CL_LINKER_NOT_AVAILABLE};  // CL_DEVICE_LINKER_AVAILABLE is false
  });
}

CL_API_ENTRY cl_int CL_API_CALL clGetProgramInfo(cl_program program, cl_program_info name, size_t size, void* value,
                                                 size_t* size_ret) {
  return icd::enter([&] {
    Program& of = object<Program>(program);
    if (name == CL_PROGRAM_BINARIES && value != nullptr) {
      require(size >= of.devices().size() * sizeof(void*), CL_INVALID_VALUE);
    }
    icd::answer(kProgramInfo, of, name, InfoSink(size, value, size_ret), value);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                                      cl_program_build_info name, size_t size, void* value,
                                                      size_t* size_ret) {
  return icd::enter([&] {
    Program& of = object<Program>(program);
    Device* on = from_handle<Device>(device);
    require(on != nullptr && std::find(of.devices().begin(), of.devices().end(), on) != of.devices().end(),
            CL_INVALID_DEVICE);
    DeviceBuildInfo build = of.build_info(*on);
    icd::answer(kBuildInfo, build, name, InfoSink(size, value, size_ret));
  });
}
