#include <algorithm>
#include <sstream>

#include "icd/info.h"
#include "runtime/client/program/program.h"

namespace {

using namespace remotecl;
using icd::InfoSink;
using icd::object;
using icd::require;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ";") + name;
  return text;
}

std::vector<std::vector<std::byte>> binaries_of(Program& program) {
  std::vector<std::vector<std::byte>> binaries(program.named_devices().size());
  for (std::size_t i = 0; i < binaries.size(); ++i) {
    const cl_int error = program.binary(*program.named_devices()[i], binaries[i]);
    require(error == CL_SUCCESS, error);
  }
  return binaries;
}

std::vector<std::size_t> sizes_of(const std::vector<std::vector<std::byte>>& binaries) {
  std::vector<std::size_t> sizes;
  sizes.reserve(binaries.size());
  for (const auto& binary : binaries) sizes.push_back(binary.size());
  return sizes;
}

bool any_build(const Program& program, bool DeviceBuildInfo::*property) {
  const auto& devices = program.devices();
  return std::any_of(devices.begin(), devices.end(),
                     [&](const Device* device) { return program.build_info(*device).*property; });
}

const icd::InfoRow<Program, void*> kProgramInfo[] = {
    {CL_PROGRAM_REFERENCE_COUNT, [](Program& p, const InfoSink& sink, void*) { sink.value(p.handle_count()); }},
    {CL_PROGRAM_CONTEXT, [](Program& p, const InfoSink& sink, void*) { sink.value(p.context().handle()); }},
    {CL_PROGRAM_NUM_DEVICES,
     [](Program& p, const InfoSink& sink, void*) { sink.value(static_cast<cl_uint>(p.named_devices().size())); }},
    {CL_PROGRAM_DEVICES,
     [](Program& p, const InfoSink& sink, void*) {
       std::vector<cl_device_id> handles;
       for (Device* device : p.named_devices()) handles.push_back(device->handle());
       sink.list(handles);
     }},
    {CL_PROGRAM_SOURCE, [](Program& p, const InfoSink& sink,
                           void*) { sink.text(p.code().origin == ProgramOrigin::kSource ? p.code().text : ""); }},
    {CL_PROGRAM_IL,
     [](Program& p, const InfoSink& sink, void*) {
       const bool il = p.code().origin == ProgramOrigin::kIl;
       sink.bytes(p.code().text.data(), il ? p.code().text.size() : 0);
     }},
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
     [](Program& p, const InfoSink& sink, void*) {
       sink.value<cl_bool>(any_build(p, &DeviceBuildInfo::has_constructors) ? CL_TRUE : CL_FALSE);
     }},
    {CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT,
     [](Program& p, const InfoSink& sink, void*) {
       sink.value<cl_bool>(any_build(p, &DeviceBuildInfo::has_destructors) ? CL_TRUE : CL_FALSE);
     }},
    {CL_PROGRAM_BINARY_SIZES,
     [](Program& p, const InfoSink& sink, void*) {
       const std::vector<std::size_t> sizes = sizes_of(binaries_of(p));
       sink.list(sizes);
       p.tell_sizes(sizes);
     }},
    {CL_PROGRAM_BINARIES,
     [](Program& p, const InfoSink& sink, void* value) {
       std::vector<unsigned char*> targets(p.named_devices().size());
       if (value == nullptr) return sink.list(targets);
       // "param_value points to an array of pointers": they are filled only if the array's size is right.
       std::vector<unsigned char*> checked(targets.size());
       std::memcpy(checked.data(), value, sizeof(void*) * checked.size());
       const auto binaries = binaries_of(p);
       require(p.has_told(sizes_of(binaries)), CL_OUT_OF_RESOURCES);
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
     [](DeviceBuildInfo& b, const InfoSink& sink) { sink.value(b.global_variables_size); }},
};

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clGetProgramInfo(cl_program program, cl_program_info name, size_t size, void* value,
                                                 size_t* size_ret) {
  return icd::enter([&] {
    Program& of = object<Program>(program);
    if (name == CL_PROGRAM_BINARIES && value != nullptr) {
      require(size >= of.named_devices().size() * sizeof(void*), CL_INVALID_VALUE);
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
    require(on != nullptr &&
                std::find(of.named_devices().begin(), of.named_devices().end(), on) != of.named_devices().end(),
            CL_INVALID_DEVICE);
    if (name == CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE) of.ready_on(*on);
    DeviceBuildInfo build = of.build_info(*on);
    icd::answer(kBuildInfo, build, name, InfoSink(size, value, size_ret));
  });
}
