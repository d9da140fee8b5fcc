#include "server/driver/device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "server/driver/host_memory.h"

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

// "This value must be 0 for devices that do not support device and host timer synchronization."
bool has_timer(cl_platform_id platform) {
  cl_ulong resolution = 0;
  const cl_int error =
      clGetPlatformInfo(platform, CL_PLATFORM_HOST_TIMER_RESOLUTION, sizeof resolution, &resolution, nullptr);
  return error == CL_SUCCESS && resolution != 0;
}

}  // namespace

Device::Device(std::uint32_t index, cl_platform_id platform, cl_device_id id)
    : index_(index), platform_(platform), id_(id), root_(nullptr), clock_(*this, has_timer(platform)) {
  for (const std::uint32_t name : kPlatformInfo) {
    const auto query = [platform](auto... arguments) { return clGetPlatformInfo(platform, arguments...); };
    ask(name, query, platform_info_);
  }
  platform_name_ = text_of(platform_info_, CL_PLATFORM_NAME);
  ask_everything();
}

Device::Device(std::uint32_t index, Device& parent, cl_device_id id)
    : index_(index),
      platform_(parent.platform_),
      id_(id),
      root_(&parent.root()),
      platform_name_(parent.platform_name_),
      clock_(*this, !parent.clock_.reads_slowly()) {
  ask_everything();
}

void Device::ask_everything() {
  quirks_ = &quirks_of(platform_name_);
  for (const Range& range : kDeviceInfo) {
    for (std::uint32_t name = range.first; name <= range.last; ++name) {
      if (std::find(kHandles.begin(), kHandles.end(), name) != kHandles.end()) continue;
      const auto query = [this](auto... arguments) { return clGetDeviceInfo(id_, arguments...); };
      ask(name, query, info_);
    }
  }
  name_ = text_of(info_, CL_DEVICE_NAME);
  memory_ = number_of<cl_ulong>(info_, CL_DEVICE_GLOBAL_MEM_SIZE);
  // "OpenCL<space><major_version.minor_version>": a device may be older than its platform, not newer.
  const std::string version = text_of(info_, CL_DEVICE_VERSION);
  if (version.size() >= 10) version_ = (version[7] - '0') * 10 + (version[9] - '0');
  is_processor_ = (number_of<cl_device_type>(info_, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  maps_in_place_ = is_processor_ && number_of<cl_bool>(info_, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE;
  allocation_size_max_ = number_of<cl_ulong>(info_, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  local_memory_size_ = number_of<cl_ulong>(info_, CL_DEVICE_LOCAL_MEM_SIZE);
  const auto svm = number_of<cl_device_svm_capabilities>(info_, CL_DEVICE_SVM_CAPABILITIES);
  if ((svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0) {
    // Kernels of a CPU device run in this process and share its addresses, whatever the driver promises.
    const bool any_address = (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0 || maps_in_place_;
    svm_ = any_address ? Svm::kAnyAddress : Svm::kOwnAddress;
  }
}

Device::~Device() { close(); }

void Device::close() {
  // Called without the lock, because both need context().
  clock_.close();
  pinned_memory_.close();
  MutexLock lock(mutex_);
  if (closed_) return;
  closed_ = true;
  if (context_ != nullptr) clReleaseContext(std::exchange(context_, nullptr));
  if (root_ != nullptr) clReleaseDevice(id_);
  info_.clear();
  info_.shrink_to_fit();
}

cl_int Device::partition(const cl_device_partition_property* properties, std::vector<cl_device_id>& ids,
                         cl_uint& count) const {
  const auto asks = [](const InfoAnswer& answer) { return answer.name == CL_DEVICE_PARTITION_PROPERTIES; };
  // A driver of OpenCL 1.1 does not have clCreateSubDevices.
  if (std::none_of(info_.begin(), info_.end(), asks)) return CL_INVALID_VALUE;
  return clCreateSubDevices(id_, properties, static_cast<cl_uint>(ids.size()), ids.empty() ? nullptr : ids.data(),
                            &count);
}

// A sub-device's reservations also count on its device, which holds the memory; only the sub-device's own
// size limits them.
bool Device::reserve(std::uint64_t size) {
  std::uint64_t before = reserved_.load();
  do {
    if (memory_ != 0 && (size > memory_ || before > memory_ - size)) return false;
  } while (!reserved_.compare_exchange_weak(before, before + size));
  if (root_ != nullptr) root_->reserved_ += size;
  return true;
}

void Device::give_back(std::uint64_t size) {
  reserved_ -= size;
  if (root_ != nullptr) root_->reserved_ -= size;
}

cl_int Device::ended_event(cl_event* event) {
  cl_int error = CL_SUCCESS;
  const cl_context native = context(error);
  if (native != nullptr) *event = clCreateUserEvent(native, &error);
  return error == CL_SUCCESS ? clSetUserEventStatus(*event, CL_COMPLETE) : error;
}

cl_context Device::context(cl_int& error) {
  MutexLock lock(mutex_);
  error = closed_ ? CL_INVALID_DEVICE : CL_SUCCESS;
  if (context_ == nullptr && !closed_) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform_),
                                                0};
    context_ = clCreateContext(properties, 1, &id_, nullptr, nullptr, &error);
    if (error != CL_SUCCESS) context_ = nullptr;
    if (context_ != nullptr && maps_in_place()) uses_host_memory_ = HostMemory::works_on(context_, id_);
  }
  return context_;
}

}  // namespace remotecl::server
