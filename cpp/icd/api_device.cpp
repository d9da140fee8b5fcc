#include <CL/cl_ext.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "icd/extensions.h"
#include "icd/info.h"
#include "icd/kernel_sockets.h"
#include "remotecl/remotecl.h"
#include "runtime/client/objects/platform.h"
#include "runtime/client/objects/svm.h"
#include "runtime/protocol/command_buffer_types.h"

namespace {

using namespace remotecl;
using icd::InfoSink;
using icd::object;
using icd::require;

// Extensions that work here: those of the language and of built-in functions, which need nothing from the
// host, and those whose host functions this client has. All others that a native device reports are left out.
constexpr std::string_view kDeviceSideExtensions[] = {
    "cl_khr_byte_addressable_store",
    "cl_khr_3d_image_writes",
    "cl_khr_image2d_from_buffer",
    "cl_khr_depth_images",
    "cl_khr_fp64",
    "cl_khr_fp16",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_integer_dot_product",
    "cl_khr_extended_bit_ops",
    "cl_khr_expect_assume",
    "cl_khr_work_group_uniform_arithmetic",
    "cl_khr_async_work_group_copy_fence",
    "cl_khr_extended_async_copies",
    "cl_khr_kernel_clock",
    "cl_khr_select_fprounding_mode",
    // Extensions that consist of queries, which were answered natively, or whose host functions are here.
    "cl_khr_device_uuid",
    "cl_khr_il_program",
    "cl_khr_spir",
    "cl_khr_spirv_extended_debug_info",
    "cl_khr_spirv_linkonce_odr",
    "cl_khr_spirv_no_integer_wrap_decoration",
    "cl_khr_spirv_queries",
    "cl_khr_suggested_local_work_size",
    "cl_khr_extended_versioning",
    "cl_intel_device_attribute_query",
    "cl_nv_compiler_options",
    "cl_nv_device_attribute_query",
    "cl_nv_kernel_attribute",
    "cl_nv_pragma_unroll",
    "cl_amd_device_attribute_query",
    "cl_amd_media_ops",
    "cl_amd_media_ops2",
    "cl_intel_subgroups",
    "cl_intel_subgroups_char",
    "cl_intel_subgroups_short",
    "cl_intel_subgroups_long",
    "cl_intel_spirv_subgroups",
    "cl_intel_required_subgroup_size",
    "cl_intel_split_work_group_barrier",
    "cl_intel_bfloat16_conversions",
    "cl_ext_cxx_for_opencl",
    "cl_ext_float_atomics",
};

bool is_device_side(std::string_view extension) {
  return extension.starts_with("cl_khr_subgroup") ||
         std::find(std::begin(kDeviceSideExtensions), std::end(kDeviceSideExtensions), extension) !=
             std::end(kDeviceSideExtensions);
}

// OpenCL C features that depend on something reported as unsupported below.
bool is_supported_feature(std::string_view feature) {
  constexpr std::string_view kUnsupported[] = {"__opencl_c_pipes", "__opencl_c_device_enqueue",
                                               "__opencl_c_atomic_scope_all_devices"};
  return std::find(std::begin(kUnsupported), std::end(kUnsupported), feature) == std::end(kUnsupported);
}

// What this client supports on any device.
constexpr char kCreateCommandQueue[] = "cl_khr_create_command_queue";

template <class Keep>
std::vector<cl_name_version> filter_versions(Device& device, cl_device_info name, Keep&& keep) {
  const auto* native = device.info(name);
  require(native != nullptr, CL_INVALID_VALUE);
  std::vector<cl_name_version> kept;
  for (std::size_t at = 0; at + sizeof(cl_name_version) <= native->size(); at += sizeof(cl_name_version)) {
    cl_name_version entry;
    std::memcpy(&entry, native->data() + at, sizeof entry);
    entry.name[sizeof entry.name - 1] = '\0';
    if (keep(std::string_view(entry.name))) kept.push_back(entry);
  }
  return kept;
}

// The automatic device has no command buffers, because a recording belongs to one server.
bool has_own_extension(const Device& device, const cl_name_version& extension) {
  return !device.is_automatic() || std::string_view(extension.name) != CL_KHR_COMMAND_BUFFER_EXTENSION_NAME;
}

std::vector<cl_name_version> extension_versions(Device& device) {
  auto versions = filter_versions(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, is_device_side);
  cl_name_version& own = versions.emplace_back();
  own.version = CL_MAKE_VERSION(1, 0, 0);
  std::memcpy(own.name, kCreateCommandQueue, sizeof kCreateCommandQueue);
  for (const cl_name_version& extension : icd::own_extensions()) {
    if (has_own_extension(device, extension)) versions.push_back(extension);
  }
  return versions;
}

std::string extensions(Device& device) {
  std::istringstream native(device.text(CL_DEVICE_EXTENSIONS));
  std::string kept;
  for (std::string extension; native >> extension;) {
    if (!is_device_side(extension)) continue;
    kept += extension + " ";
  }
  for (const cl_name_version& extension : icd::own_extensions()) {
    if (has_own_extension(device, extension)) kept += std::string(extension.name) + " ";
  }
  return kept + kCreateCommandQueue;
}

// Features that this client does not have yet; the answers are those of a device without them.
constexpr cl_device_info kZeroUint[] = {
    CL_DEVICE_PIPE_SUPPORT,  // a cl_bool, which is a cl_uint
    CL_DEVICE_MAX_PIPE_ARGS,
    CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS,
    CL_DEVICE_PIPE_MAX_PACKET_SIZE,
    CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE,
    CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE,
    CL_DEVICE_MAX_ON_DEVICE_QUEUES,
    CL_DEVICE_MAX_ON_DEVICE_EVENTS,
};
constexpr cl_device_info kZeroBits[] = {
    CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES,
    CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES,
};

// Where the device is in its own machine. Programs would look for that place in their own machine, and so take the
// device for another one, bind threads to the wrong cores, or take two devices of two servers for one.
constexpr cl_device_info kPciInfo[] = {
    CL_DEVICE_PCI_BUS_INFO_KHR,
    0x4008,  // CL_DEVICE_PCI_BUS_ID_NV
    0x4009,  // CL_DEVICE_PCI_SLOT_ID_NV
    0x400A,  // CL_DEVICE_PCI_DOMAIN_ID_NV
};

template <std::size_t N>
bool is_in(const cl_device_info (&list)[N], cl_device_info name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

// No command shares memory with another device or the host while it runs, so this scope is not available.
cl_device_atomic_capabilities atomic_capabilities(Device& device, cl_device_info name) {
  return device.number<cl_device_atomic_capabilities>(name) &
         ~cl_device_atomic_capabilities{CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES};
}

// Returns false if the native answer is right.
bool answer_unsupported(Device& device, cl_device_info name, const InfoSink& sink) {
  if (device.info(name) == nullptr) return false;
  if (is_in(kZeroUint, name)) {
    sink.value<cl_uint>(0);
  } else if (is_in(kZeroBits, name)) {
    sink.value<cl_bitfield>(0);
  } else if (is_in(kPciInfo, name)) {
    throw icd::ApiError{CL_INVALID_VALUE};
  } else {
    return false;
  }
  return true;
}

// A replay consists of ordinary native commands, and kernels that print are handled as elsewhere.
cl_device_command_buffer_capabilities_khr command_buffer_capabilities(Device& device) {
  const auto queues = device.number<cl_command_queue_properties>(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
  const bool out_of_order = (queues & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
  return CL_COMMAND_BUFFER_CAPABILITY_KERNEL_PRINTF_KHR | CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR |
         (out_of_order ? CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR : 0);
}

using DeviceRow = icd::InfoRow<Device>;

// Answers a query that the driver knows, with what is true of the device from here.
template <class T, class Answer>
void correct(Device& device, cl_device_info name, const InfoSink& sink, Answer answer) {
  require(device.info(name) != nullptr, CL_INVALID_VALUE);
  sink.value<T>(answer);
}
template <class T, cl_device_info kName, T kAnswer>
constexpr DeviceRow kCorrected = {kName, [](Device& d, const InfoSink& sink) { correct<T>(d, kName, sink, kAnswer); }};
template <cl_device_info kName>
constexpr DeviceRow kAtomicCapabilities = {kName, [](Device& d, const InfoSink& sink) {
                                             correct<cl_device_atomic_capabilities>(d, kName, sink,
                                                                                    atomic_capabilities(d, kName));
                                           }};

const DeviceRow kDeviceInfo[] = {
    {CL_DEVICE_PLATFORM, [](Device& d, const InfoSink& sink) { sink.value(d.platform().handle()); }},
    {CL_DEVICE_PARENT_DEVICE,
     [](Device& d, const InfoSink& sink) {
       sink.value<cl_device_id>(d.parent() == nullptr ? nullptr : d.parent()->handle());
     }},
    {CL_DEVICE_REFERENCE_COUNT,
     [](Device& d, const InfoSink& sink) { sink.value(d.parent() == nullptr ? 1 : d.handle_count()); }},
    {CL_DEVICE_AVAILABLE,
     [](Device& d, const InfoSink& sink) {
       sink.value<cl_bool>(!d.lost() && d.number<cl_bool>(CL_DEVICE_AVAILABLE, CL_TRUE) ? CL_TRUE : CL_FALSE);
     }},
    {CL_DEVICE_EXECUTION_CAPABILITIES,
     [](Device&, const InfoSink& sink) { sink.value<cl_device_exec_capabilities>(CL_EXEC_KERNEL); }},
    {CL_DEVICE_SVM_CAPABILITIES,
     [](Device& d, const InfoSink& sink) {
       require(d.info(CL_DEVICE_SVM_CAPABILITIES) != nullptr, CL_INVALID_VALUE);
       sink.value(svm_capabilities(d));
     }},
    // Memory that is mapped here is not the device's, even on the same machine.
    kCorrected<cl_bool, CL_DEVICE_HOST_UNIFIED_MEMORY, CL_FALSE>,
    kCorrected<cl_bool, CL_DEVICE_INTEGRATED_MEMORY_NV, CL_FALSE>,
    kAtomicCapabilities<CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES>,
    kAtomicCapabilities<CL_DEVICE_ATOMIC_FENCE_CAPABILITIES>,
    // Objects are not shared with other interfaces, so nothing synchronizes with them.
    kCorrected<cl_bool, CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, CL_TRUE>,
    // The LUID names an adapter of the server's machine, not of the program's.
    kCorrected<cl_bool, CL_DEVICE_LUID_VALID_KHR, CL_FALSE>,
    // Profiles are in this host's clock already.
    kCorrected<cl_ulong, CL_DEVICE_PROFILING_TIMER_OFFSET_AMD, 0>,
    // An unknown type, for the reason given at kPciInfo.
    {CL_DEVICE_TOPOLOGY_AMD,
     [](Device& d, const InfoSink& sink) {
       correct<cl_device_topology_amd>(d, CL_DEVICE_TOPOLOGY_AMD, sink, cl_device_topology_amd{});
     }},
    // "the latest version of the conformance test suite that this device has fully passed": the driver may
    // have passed it, but not together with this runtime. This is also the answer of other drivers that have
    // passed none.
    {CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED,
     [](Device& d, const InfoSink& sink) {
       require(d.info(CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED) != nullptr, CL_INVALID_VALUE);
       sink.text("v0000-01-01-00");
     }},
    // Differs from the native version, because programs keep binaries under it, and the native driver does not take
    // ours.
    {CL_DRIVER_VERSION,
     [](Device& d, const InfoSink& sink) { sink.text(d.text(CL_DRIVER_VERSION) + " remotecl " REMOTECL_VERSION); }},
    {CL_DEVICE_EXTENSIONS, [](Device& d, const InfoSink& sink) { sink.text(extensions(d)); }},
    {CL_DEVICE_EXTENSIONS_WITH_VERSION, [](Device& d, const InfoSink& sink) { sink.list(extension_versions(d)); }},
    {CL_DEVICE_OPENCL_C_FEATURES,
     [](Device& d, const InfoSink& sink) {
       sink.list(filter_versions(d, CL_DEVICE_OPENCL_C_FEATURES, is_supported_feature));
     }},
    {CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR,
     [](Device& d, const InfoSink& sink) { sink.value(command_buffer_capabilities(d)); }},
    {CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR,
     [](Device&, const InfoSink& sink) { sink.value<cl_command_queue_properties>(0); }},
    {CL_DEVICE_REMOTECL_SERVER,
     [](Device& d, const InfoSink& sink) { sink.text(d.is_automatic() ? "automatic" : d.session().address().text()); }},
    {CL_DEVICE_REMOTECL_PLATFORM,
     [](Device& d, const InfoSink& sink) {
       const auto* name = d.platform_info(CL_PLATFORM_NAME);
       sink.text(name == nullptr ? "" : std::string(as_text(*name).substr(0, as_text(*name).find('\0'))));
     }},
    {CL_DEVICE_REMOTECL_BULK_STREAMS,
     [](Device& d, const InfoSink& sink) { sink.value<cl_uint>(d.session().bulk_streams()); }},
    {CL_DEVICE_REMOTECL_KERNEL_SOCKETS,
     [](Device& d, const InfoSink& sink) {
       sink.value<cl_bool>(icd::can_have_kernel_sockets(d) ? CL_TRUE : CL_FALSE);
     }},
};

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t size, void* value,
                                                size_t* size_ret) {
  return icd::enter([&] {
    Device& of = object<Device>(device);
    const InfoSink sink(size, value, size_ret);
    for (const DeviceRow& row : kDeviceInfo) {
      if (row.name == name) return row.answer(of, sink);
    }
    if (answer_unsupported(of, name, sink)) return;
    const auto* native = of.info(name);
    require(native != nullptr, CL_INVALID_VALUE);
    if (name == CL_DEVICE_NAME) Platform::instance().mark_used();
    sink.bytes(native->data(), native->size());
  });
}
