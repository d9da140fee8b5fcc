// A program on the automatic device stands for the programs of the members for which it was built.
#include <algorithm>

#include "runtime/client/program/binary_bundle.h"
#include "runtime/client/program/program.h"

namespace remotecl {
namespace {

bool is_in(const std::vector<Device*>& devices, const Device* device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

void add_log(const Device& device, const std::string& log, std::string& to) {
  if (!to.empty() && to.back() != '\n') to += '\n';
  to += device.text(CL_DEVICE_NAME) + ":\n" + log;
}

}  // namespace

std::vector<Device*> Program::in_place_of(const std::vector<Device*>& named) const {
  std::vector<Device*> devices = with_members(named);
  std::erase_if(devices, [this](const Device* device) { return !is_in(devices_, device); });
  return devices;
}

bool Program::is_named(const Device* device) const { return is_in(named_devices_, device); }

// Success if the program was built for any member. Most other fields are those of a member with that status; logs that
// differ are joined.
DeviceBuildInfo Program::joint_build_info(const Device& automatic) const {
  DeviceBuildInfo joint;
  std::vector<std::pair<const Device*, std::string>> logs;
  bool is_first = true;
  for (Device* member : automatic.members()) {
    if (!is_in(devices_, member)) continue;
    const DeviceBuildInfo info = build_info(*member);
    logs.emplace_back(member, info.log);
    const bool is_better = info.status == CL_BUILD_IN_PROGRESS ||
                           (joint.status != CL_BUILD_IN_PROGRESS && joint.status != CL_BUILD_SUCCESS &&
                            (info.status == CL_BUILD_SUCCESS || joint.status == CL_BUILD_NONE));
    const std::size_t global_size = std::max(joint.global_variables_size, info.global_variables_size);
    const bool is_executable = joint.executable || info.executable;
    if (is_better || std::exchange(is_first, false)) joint = info;
    joint.global_variables_size = global_size;
    joint.executable = is_executable;
  }
  joint.binary = nullptr;
  const bool are_equal =
      std::all_of(logs.begin(), logs.end(), [&](const auto& one) { return one.second == joint.log; });
  if (are_equal) return joint;
  joint.log.clear();
  for (const auto& [member, log] : logs) add_log(*member, log, joint.log);
  return joint;
}

// With limits that hold on all of them.
std::optional<KernelInfo> Program::joint_kernel_info(const std::string& name, const Device& automatic) const {
  std::optional<KernelInfo> joint;
  for (const Device* member : automatic.members()) {
    const auto info = kernel_info(name, member);
    if (!info) continue;
    if (!joint) joint = info;
    if (info->work_group_size != 0) joint->work_group_size = std::min(joint->work_group_size, info->work_group_size);
    joint->local_memory_size = std::max(joint->local_memory_size, info->local_memory_size);
    joint->private_memory_size = std::max(joint->private_memory_size, info->private_memory_size);
    joint->preferred_multiple = std::max(joint->preferred_multiple, info->preferred_multiple);
  }
  return joint;
}

cl_int Program::bundle(const Device& automatic, std::vector<std::byte>& binary) {
  std::vector<std::vector<std::byte>> binaries(automatic.members().size());
  cl_int failure = CL_SUCCESS;
  bool has_any = false;
  for (std::size_t i = 0; i < binaries.size(); ++i) {
    Device& member = *automatic.members()[i];
    if (!is_in(devices_, &member)) continue;
    const cl_int error = this->binary(member, binaries[i]);
    if (error != CL_SUCCESS) failure = error;
    has_any = has_any || !binaries[i].empty();
  }
  // The application asks for the size and then for the binary. Both must agree, although servers may be lost meanwhile.
  if (failure != CL_SUCCESS) return failure;
  if (has_any) binary = pack_bundle(automatic.members(), binaries);
  return CL_SUCCESS;
}

}  // namespace remotecl
