#include <algorithm>

#include "icd/enqueue_checks.h"
#include "icd/info.h"
#include "icd/memory_flags.h"
#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/objects/memory_object.h"
#include "runtime/client/objects/svm.h"
#include "runtime/client/support/callback_thread.h"

namespace {

using namespace remotecl;
using icd::base_alignment;
using icd::InfoSink;
using icd::object;
using icd::require;

cl_mem make_buffer(cl_context context, std::vector<cl_mem_properties> properties, cl_mem_flags flags, size_t size,
                   void* host_ptr) {
  Context& in = object<Context>(context);
  icd::require_valid(flags);
  // "CL_INVALID_BUFFER_SIZE if size is 0 ... or greater than CL_DEVICE_MAX_MEM_ALLOC_SIZE for all devices in context."
  // An automatic device counts as one device, with the least of what its members have.
  const auto fits = [size](const Device* device) {
    return size <= device->number<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE, ~cl_ulong{0});
  };
  require(size != 0 && std::ranges::any_of(in.named_devices(), fits), CL_INVALID_BUFFER_SIZE);
  // "CL_INVALID_HOST_PTR if host_ptr is NULL and CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR are set in flags or if
  // host_ptr is not NULL but [they] are not set."
  const bool wants_pointer = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
  require(wants_pointer == (host_ptr != nullptr), CL_INVALID_HOST_PTR);
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) {
    if (const SvmAddress svm = find_svm(in, host_ptr); svm.holds(1)) {
      // "... if CL_MEM_USE_HOST_PTR is set in flags and host_ptr is a pointer returned by clSVMAlloc and size is
      // greater than the size passed to clSVMAlloc."
      require(svm.holds(size), CL_INVALID_BUFFER_SIZE);
      return make_ref<MemoryObject>(svm.memory, svm.offset, flags, size, std::move(properties)).detach()->handle();
    }
  }
  auto made = make_ref<MemoryObject>(Ref<Context>(&in), flags, size, host_ptr, std::move(properties));
  CoherentHostMemory::attach(*made);
  return made.detach()->handle();
}

const icd::InfoRow<MemoryObject> kMemoryInfo[] = {
    {CL_MEM_TYPE,
     [](MemoryObject& m, const InfoSink& sink) {
       sink.value<cl_mem_object_type>(m.image() == nullptr ? CL_MEM_OBJECT_BUFFER : m.image()->shape.type);
     }},
    {CL_MEM_FLAGS, [](MemoryObject& m, const InfoSink& sink) { sink.value(m.flags()); }},
    {CL_MEM_SIZE, [](MemoryObject& m, const InfoSink& sink) { sink.value(m.size()); }},
    {CL_MEM_HOST_PTR, [](MemoryObject& m, const InfoSink& sink) { sink.value(m.host_ptr()); }},
    {CL_MEM_MAP_COUNT, [](MemoryObject& m, const InfoSink& sink) { sink.value(m.map_count()); }},
    {CL_MEM_REFERENCE_COUNT, [](MemoryObject& m, const InfoSink& sink) { sink.value(m.handle_count()); }},
    {CL_MEM_CONTEXT, [](MemoryObject& m, const InfoSink& sink) { sink.value(m.context().handle()); }},
    {CL_MEM_ASSOCIATED_MEMOBJECT,
     [](MemoryObject& m, const InfoSink& sink) {
       sink.value<cl_mem>(m.parent() == nullptr ? nullptr : m.parent()->handle());
     }},
    // "Returns 0 if memobj is not a sub-buffer object."
    {CL_MEM_OFFSET,
     [](MemoryObject& m, const InfoSink& sink) { sink.value(m.image() == nullptr ? m.offset() : std::size_t{0}); }},
    {CL_MEM_USES_SVM_POINTER,
     [](MemoryObject& m, const InfoSink& sink) { sink.value<cl_bool>(m.uses_svm() ? CL_TRUE : CL_FALSE); }},
    {CL_MEM_PROPERTIES, [](MemoryObject& m, const InfoSink& sink) { sink.list(m.properties()); }},
};

}  // namespace

CL_API_ENTRY cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host_ptr,
                                               cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] { return make_buffer(context, {}, flags, size, host_ptr); });
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context context, const cl_mem_properties* properties,
                                                             cl_mem_flags flags, size_t size, void* host_ptr,
                                                             cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    object<Context>(context);
    // "CL_INVALID_PROPERTY if a property name in properties is not a supported property name": none is
    // supported.
    require(properties == nullptr || *properties == 0, CL_INVALID_PROPERTY);
    std::vector<cl_mem_properties> list;
    if (properties != nullptr) list.push_back(0);
    return make_buffer(context, std::move(list), flags, size, host_ptr);
  });
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                                                  const void* info, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    MemoryObject& parent = object<MemoryObject>(buffer);
    // "CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object or is a sub-buffer object."
    require(parent.image() == nullptr && parent.parent() == nullptr && parent.network_device() == nullptr,
            CL_INVALID_MEM_OBJECT);
    require((flags & icd::kHostPointerFlags) == 0, CL_INVALID_VALUE);
    icd::require_valid(flags);
    // "CL_INVALID_VALUE if buffer was created with CL_MEM_WRITE_ONLY and flags specifies CL_MEM_READ_WRITE or
    // CL_MEM_READ_ONLY, or if buffer was created with CL_MEM_READ_ONLY and flags specifies [...]"
    const cl_mem_flags own = flags & icd::kAccessFlags;
    if ((parent.flags() & CL_MEM_WRITE_ONLY) != 0) require((own & ~CL_MEM_WRITE_ONLY) == 0, CL_INVALID_VALUE);
    if ((parent.flags() & CL_MEM_READ_ONLY) != 0) require((own & ~CL_MEM_READ_ONLY) == 0, CL_INVALID_VALUE);
    const cl_mem_flags host = flags & icd::kHostAccessFlags;
    const cl_mem_flags parent_host = parent.flags() & icd::kHostAccessFlags;
    require(host == 0 || parent_host == 0 || host == parent_host || host == CL_MEM_HOST_NO_ACCESS, CL_INVALID_VALUE);
    // "CL_INVALID_VALUE if the value specified in buffer_create_type is not valid ... or is NULL."
    require(type == CL_BUFFER_CREATE_TYPE_REGION && info != nullptr, CL_INVALID_VALUE);
    const auto& region = *static_cast<const cl_buffer_region*>(info);
    // "CL_INVALID_VALUE if the region specified by [origin, size] is out of bounds in buffer."
    require(region.origin <= parent.size() && region.size <= parent.size() - region.origin, CL_INVALID_VALUE);
    require(region.size != 0, CL_INVALID_BUFFER_SIZE);
    // "CL_MISALIGNED_SUB_BUFFER_OFFSET if there are no devices in context associated with buffer for which the origin
    // field ... is aligned to the CL_DEVICE_MEM_BASE_ADDR_ALIGN value."
    const auto& devices = parent.context().devices();
    require(std::any_of(devices.begin(), devices.end(),
                        [&](Device* device) { return region.origin % base_alignment(*device) == 0; }),
            CL_MISALIGNED_SUB_BUFFER_OFFSET);
    return make_ref<MemoryObject>(Ref<MemoryObject>(&parent), flags, region.origin, region.size).detach()->handle();
  });
}

CL_API_ENTRY cl_int CL_API_CALL clRetainMemObject(cl_mem memory) { return icd::retain<MemoryObject>(memory); }
CL_API_ENTRY cl_int CL_API_CALL clReleaseMemObject(cl_mem memory) { return icd::release<MemoryObject>(memory); }

CL_API_ENTRY cl_int CL_API_CALL clGetMemObjectInfo(cl_mem memory, cl_mem_info name, size_t size, void* value,
                                                   size_t* size_ret) {
  return icd::enter(
      [&] { icd::answer(kMemoryInfo, object<MemoryObject>(memory), name, InfoSink(size, value, size_ret)); });
}

CL_API_ENTRY cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem memory, MemoryObject::Destructor function,
                                                                 void* user_data) {
  return icd::enter([&] {
    MemoryObject& of = object<MemoryObject>(memory);
    require(function != nullptr, CL_INVALID_VALUE);
    require(can_call_back(), CL_OUT_OF_RESOURCES);
    of.add_destructor(function, user_data);
  });
}
