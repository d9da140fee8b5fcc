#include <algorithm>

#include "icd/info.h"
#include "runtime/client/program/kernel.h"

namespace {

using namespace remotecl;
using icd::InfoSink;
using icd::object;
using icd::require;

cl_kernel make_kernel(Program& program, const std::string& name) {
  auto info = program.kernel_info(name, nullptr);
  require(info.has_value(), CL_INVALID_KERNEL_NAME);
  return make_ref<Kernel>(Ref<Program>(&program), std::move(*info)).detach()->handle();
}

// "CL_INVALID_DEVICE if device is not in the list of devices associated with kernel or if device is NULL but there is
// more than one device associated with kernel."
Device& device_of(Kernel& kernel, cl_device_id handle) {
  const auto& devices = kernel.program().named_devices();
  Device* device = handle == nullptr && devices.size() == 1 ? devices[0] : from_handle<Device>(handle);
  require(device != nullptr && std::find(devices.begin(), devices.end(), device) != devices.end(), CL_INVALID_DEVICE);
  return *device;
}

const icd::InfoRow<Kernel> kKernelInfo[] = {
    {CL_KERNEL_FUNCTION_NAME, [](Kernel& k, const InfoSink& sink) { sink.text(k.info().name); }},
    {CL_KERNEL_NUM_ARGS,
     [](Kernel& k, const InfoSink& sink) { sink.value(static_cast<cl_uint>(k.info().arguments.size())); }},
    {CL_KERNEL_REFERENCE_COUNT, [](Kernel& k, const InfoSink& sink) { sink.value(k.handle_count()); }},
    {CL_KERNEL_CONTEXT, [](Kernel& k, const InfoSink& sink) { sink.value(k.context().handle()); }},
    {CL_KERNEL_PROGRAM, [](Kernel& k, const InfoSink& sink) { sink.value(k.program().handle()); }},
    {CL_KERNEL_ATTRIBUTES, [](Kernel& k, const InfoSink& sink) { sink.text(k.info().attributes); }},
};

using WorkGroupRow = icd::InfoRow<Kernel, const KernelInfo&>;
const WorkGroupRow kWorkGroupInfo[] = {
    {CL_KERNEL_WORK_GROUP_SIZE,
     [](Kernel&, const InfoSink& sink, const KernelInfo& info) { sink.value(info.work_group_size); }},
    {CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
     [](Kernel&, const InfoSink& sink, const KernelInfo& info) { sink.value(info.compile_work_group_size); }},
    {CL_KERNEL_LOCAL_MEM_SIZE,
     [](Kernel& k, const InfoSink& sink, const KernelInfo& info) {
       sink.value<cl_ulong>(info.local_memory_size + k.local_argument_bytes());
     }},
    {CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
     [](Kernel&, const InfoSink& sink, const KernelInfo& info) { sink.value(info.preferred_multiple); }},
    {CL_KERNEL_PRIVATE_MEM_SIZE,
     [](Kernel&, const InfoSink& sink, const KernelInfo& info) { sink.value(info.private_memory_size); }},
};

using ArgumentRow = icd::InfoRow<const ArgumentInfo>;
const ArgumentRow kArgumentInfo[] = {
    {CL_KERNEL_ARG_ADDRESS_QUALIFIER, [](const ArgumentInfo& a, const InfoSink& sink) { sink.value(a.address); }},
    {CL_KERNEL_ARG_ACCESS_QUALIFIER, [](const ArgumentInfo& a, const InfoSink& sink) { sink.value(a.access); }},
    {CL_KERNEL_ARG_TYPE_NAME, [](const ArgumentInfo& a, const InfoSink& sink) { sink.text(a.type_name); }},
    {CL_KERNEL_ARG_TYPE_QUALIFIER, [](const ArgumentInfo& a, const InfoSink& sink) { sink.value(a.type_qualifier); }},
    {CL_KERNEL_ARG_NAME, [](const ArgumentInfo& a, const InfoSink& sink) { sink.text(a.name); }},
};

}  // namespace

CL_API_ENTRY cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char* name, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    Program& of = object<Program>(program);
    require(name != nullptr, CL_INVALID_VALUE);
    require(of.any_built(), CL_INVALID_PROGRAM_EXECUTABLE);
    return make_kernel(of, name);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clCreateKernelsInProgram(cl_program program, cl_uint num_kernels, cl_kernel* kernels,
                                                         cl_uint* num_kernels_ret) {
  return icd::enter([&] {
    Program& of = object<Program>(program);
    require(of.any_built(), CL_INVALID_PROGRAM_EXECUTABLE);
    const std::vector<std::string> names = of.kernel_names();
    // "CL_INVALID_VALUE if kernels is not NULL and num_kernels is less than the number of kernels in program."
    require(kernels == nullptr || num_kernels >= names.size(), CL_INVALID_VALUE);
    if (num_kernels_ret != nullptr) *num_kernels_ret = static_cast<cl_uint>(names.size());
    if (kernels == nullptr) return;
    for (const std::string& name : names) *kernels++ = make_kernel(of, name);
  });
}

CL_API_ENTRY cl_kernel CL_API_CALL clCloneKernel(cl_kernel source, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] { return make_ref<Kernel>(object<Kernel>(source)).detach()->handle(); });
}

CL_API_ENTRY cl_int CL_API_CALL clRetainKernel(cl_kernel kernel) { return icd::retain<Kernel>(kernel); }
CL_API_ENTRY cl_int CL_API_CALL clReleaseKernel(cl_kernel kernel) { return icd::release<Kernel>(kernel); }

CL_API_ENTRY cl_int CL_API_CALL clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  return icd::enter([&] { return object<Kernel>(kernel).set_argument(index, size, value); });
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelInfo(cl_kernel kernel, cl_kernel_info name, size_t size, void* value,
                                                size_t* size_ret) {
  return icd::enter([&] { icd::answer(kKernelInfo, object<Kernel>(kernel), name, InfoSink(size, value, size_ret)); });
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                                         cl_kernel_work_group_info name, size_t size, void* value,
                                                         size_t* size_ret) {
  return icd::enter([&] {
    Kernel& of = object<Kernel>(kernel);
    Device& on = device_of(of, device);
    const bool known = std::any_of(std::begin(kWorkGroupInfo), std::end(kWorkGroupInfo),
                                   [name](const WorkGroupRow& row) { return row.name == name; });
    // CL_KERNEL_GLOBAL_WORK_SIZE, which is for custom devices and built-in kernels, and vendors' queries.
    if (!known) return of.query(on, KernelQuery::kWorkGroup, name, {}, size, value, size_ret);
    icd::answer(kWorkGroupInfo, of, name, InfoSink(size, value, size_ret), of.info_on(on));
    return CL_SUCCESS;
  });
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device,
                                                        cl_kernel_sub_group_info name, size_t input_size,
                                                        const void* input, size_t size, void* value, size_t* size_ret) {
  return icd::enter([&] {
    Kernel& of = object<Kernel>(kernel);
    const Bytes bytes(static_cast<const std::byte*>(input), input == nullptr ? 0 : input_size);
    return of.query(device_of(of, device), KernelQuery::kSubGroup, name, bytes, size, value, size_ret);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_kernel_arg_info name,
                                                   size_t size, void* value, size_t* size_ret) {
  return icd::enter([&] {
    Kernel& of = object<Kernel>(kernel);
    require(index < of.info().arguments.size(), CL_INVALID_ARG_INDEX);
    const bool known = std::any_of(std::begin(kArgumentInfo), std::end(kArgumentInfo),
                                   [name](const ArgumentRow& row) { return row.name == name; });
    require(known, CL_INVALID_VALUE);
    const ArgumentInfo& argument = of.info().arguments[index];
    require(argument.info_status == CL_SUCCESS, argument.info_status);
    icd::answer(kArgumentInfo, argument, name, InfoSink(size, value, size_ret));
  });
}
