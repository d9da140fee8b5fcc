#include "server/driver/device_traits.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace remotecl::server {
namespace {

constexpr std::size_t kInfoSizeMax = 1u << 20;

// Every query that some driver answers, standard or vendor-specific; the client decides what to make of the
// answers.
struct Range {
  std::uint32_t first, last;
};
constexpr std::array kDeviceInfo = {
    Range{0x1000, 0x107F},  // OpenCL 1.0 to 3.0 and cl_khr extensions
    Range{0x12B9, 0x12BB},  // cl_khr_spirv_queries
    Range{0x2035, 0x2035},  // cl_khr_subgroup_named_barrier
    Range{0x4000, 0x4010},  // NVIDIA
    Range{0x4030, 0x404F},  // AMD
    Range{0x40E0, 0x40E0},  // cl_khr_spir
    Range{0x4108, 0x410F},  // Intel
    Range{0x4230, 0x4233},  // cl_ext_cxx_for_opencl, cl_ext_float_atomics
    Range{0x4250, 0x4256},  // Intel's device attributes
};
constexpr std::array<std::uint32_t, 2> kHandles = {CL_DEVICE_PLATFORM, 0x1042 /* CL_DEVICE_PARENT_DEVICE */};
constexpr std::array<std::uint32_t, 8> kPlatformInfo = {CL_PLATFORM_PROFILE,
                                                        CL_PLATFORM_VERSION,
                                                        CL_PLATFORM_NAME,
                                                        CL_PLATFORM_VENDOR,
                                                        CL_PLATFORM_EXTENSIONS,
                                                        CL_PLATFORM_HOST_TIMER_RESOLUTION,
                                                        CL_PLATFORM_NUMERIC_VERSION,
                                                        CL_PLATFORM_EXTENSIONS_WITH_VERSION};

template <class Query>
void ask(std::uint32_t name, Query&& query, std::vector<InfoAnswer>& answers) {
  std::size_t size = 0;
  if (query(name, 0, nullptr, &size) != CL_SUCCESS || size > kInfoSizeMax) return;
  InfoAnswer answer{name, std::vector<std::byte>(size)};
  if (size != 0 && query(name, size, answer.value.data(), nullptr) != CL_SUCCESS) return;
  answers.push_back(std::move(answer));
}

std::string text_of(const std::vector<InfoAnswer>& answers, std::uint32_t name) {
  for (const auto& answer : answers) {
    if (answer.name != name) continue;
    const auto* text = reinterpret_cast<const char*>(answer.value.data());
    return {text, strnlen(text, answer.value.size())};
  }
  return {};
}

template <class T>
T number_of(const std::vector<InfoAnswer>& answers, std::uint32_t name) {
  T value{};
  for (const auto& answer : answers) {
    if (answer.name == name && answer.value.size() == sizeof value) {
      std::memcpy(&value, answer.value.data(), sizeof value);
    }
  }
  return value;
}

std::vector<InfoAnswer> ask_platform(cl_platform_id platform) {
  std::vector<InfoAnswer> answers;
  for (const std::uint32_t name : kPlatformInfo) {
    const auto query = [platform](auto... arguments) { return clGetPlatformInfo(platform, arguments...); };
    ask(name, query, answers);
  }
  return answers;
}

}  // namespace

// "This value must be 0 for devices that do not support device and host timer synchronization."
DeviceTraits::DeviceTraits(cl_platform_id platform, cl_device_id id)
    : platform_info(ask_platform(platform)),
      platform_name(text_of(platform_info, CL_PLATFORM_NAME)),
      has_timer(number_of<cl_ulong>(platform_info, CL_PLATFORM_HOST_TIMER_RESOLUTION) != 0),
      quirks(quirks_of(platform_name)) {
  ask_device(id);
}

DeviceTraits::DeviceTraits(const DeviceTraits& parent, cl_device_id id)
    : platform_name(parent.platform_name), has_timer(parent.has_timer), quirks(parent.quirks) {
  ask_device(id);
}

void DeviceTraits::ask_device(cl_device_id id) {
  const auto query = [id](auto... arguments) { return clGetDeviceInfo(id, arguments...); };
  for (const Range& range : kDeviceInfo) {
    for (std::uint32_t each = range.first; each <= range.last; ++each) {
      if (std::find(kHandles.begin(), kHandles.end(), each) == kHandles.end()) ask(each, query, info);
    }
  }
  name = text_of(info, CL_DEVICE_NAME);
  // "OpenCL<space><major_version.minor_version>": a device may be older than its platform, not newer.
  const std::string text = text_of(info, CL_DEVICE_VERSION);
  if (text.size() >= 10) version = (text[7] - '0') * 10 + (text[9] - '0');
  const auto type = number_of<cl_device_type>(info, CL_DEVICE_TYPE);
  is_processor = (type & CL_DEVICE_TYPE_CPU) != 0;
  is_custom = (type & CL_DEVICE_TYPE_CUSTOM) != 0;
  has_unified_memory = number_of<cl_bool>(info, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE;
  svm = number_of<cl_device_svm_capabilities>(info, CL_DEVICE_SVM_CAPABILITIES);
  memory_size = number_of<cl_ulong>(info, CL_DEVICE_GLOBAL_MEM_SIZE);
  local_memory_size = number_of<cl_ulong>(info, CL_DEVICE_LOCAL_MEM_SIZE);
  allocation_size_max = number_of<cl_ulong>(info, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
}

}  // namespace remotecl::server
