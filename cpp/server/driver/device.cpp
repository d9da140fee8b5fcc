#include "server/driver/device.h"

#include <algorithm>
#include <utility>

namespace remotecl::server {

namespace {

constexpr std::uint64_t kReleasedPart = 32;  // released objects may keep 1/kReleasedPart of the memory

}  // namespace

Device::Device(std::uint32_t index, cl_platform_id platform, cl_device_id id)
    : index_(index),
      platform_(platform),
      id_(id),
      root_(nullptr),
      traits_(platform, id),
      memory_(*this, traits_, nullptr),
      released_memory_(load_, traits_.quirks.releases_wait_for_kernels ? memory_.total() / kReleasedPart : 0),
      clock_(*this, traits_.has_timer) {}

Device::Device(std::uint32_t index, Device& parent, cl_device_id id)
    : index_(index),
      platform_(parent.platform_),
      id_(id),
      root_(&parent.root()),
      traits_(parent.traits_, id),
      memory_(*this, traits_, &root_->memory_),
      released_memory_(load_, 0),
      clock_(*this, traits_.has_timer) {}

// Releases a sub-device here and not in close(), because objects that refer to it, such as the event of a buffer's last
// write, may be released after that. A context should retain its devices, but PoCL's does not retain a sub-device.
Device::~Device() {
  close();
  if (root_ != nullptr) clReleaseDevice(id_);
}

void Device::close() {
  clock_.close();
  memory_.pinned().close();
  released_memory_.release_all();
  if (root_ != nullptr) released_queues_.release_ended();
  cl_context context = nullptr;
  {
    MutexLock lock(mutex_);
    if (std::exchange(closed_, true)) return;
    context = std::exchange(context_, nullptr);
  }
  if (context != nullptr) clReleaseContext(context);
  traits_.info = {};
}

void Device::say(std::uint32_t name, Bytes value) {
  std::erase_if(said_, [&](const InfoAnswer& answer) { return answer.name == name; });
  said_.push_back({name, {value.begin(), value.end()}});
}

cl_int Device::partition(const cl_device_partition_property* properties, std::vector<cl_device_id>& ids,
                         cl_uint& count) const {
  const auto asks = [](const InfoAnswer& answer) { return answer.name == CL_DEVICE_PARTITION_PROPERTIES; };
  // A driver of OpenCL 1.1 does not have clCreateSubDevices.
  if (std::none_of(traits_.info.begin(), traits_.info.end(), asks)) return CL_INVALID_VALUE;
  return clCreateSubDevices(id_, properties, static_cast<cl_uint>(ids.size()), ids.empty() ? nullptr : ids.data(),
                            &count);
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
    if (context_ != nullptr) memory_.examine(context_, id_);
  }
  return context_;
}

}  // namespace remotecl::server
