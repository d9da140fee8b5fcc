// Queries that a kernel's native driver must answer.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "runtime/client/program/driver_answer.h"
#include "runtime/client/program/kernel.h"
#include "runtime/client/session/request.h"

namespace remotecl {
namespace {

// Combines two devices' answers into one that holds on both.
void join(cl_uint name, std::span<std::size_t> joint, std::span<const std::size_t> other) {
  const bool are_equal = std::ranges::equal(joint, other);
  for (std::size_t i = 0; i < joint.size(); ++i) {
    if (name == CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE) {
      joint[i] = std::max(joint[i], other[i]);
    } else if (name == CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT) {
      // "If no work-group size can accommodate the requested number of sub-groups, [it] will return 0".
      joint[i] = are_equal ? joint[i] : 0;
    } else {
      joint[i] = std::min(joint[i], other[i]);
    }
  }
}

}  // namespace

cl_int Kernel::query_members(Device& automatic, KernelQuery query, cl_uint name, Bytes input, std::size_t size,
                             void* value, std::size_t* size_ret) {
  const bool are_sizes = query == KernelQuery::kSubGroup || name == CL_KERNEL_GLOBAL_WORK_SIZE;
  std::array<std::size_t, 3> joint{}, own{};  // no answer of that kind has more
  std::size_t answered = 0;
  for (Device* member : automatic.members()) {
    if (member->lost() || !program_->ready_on(*member)) continue;
    if (!are_sizes || value == nullptr) {
      const cl_int error = this->query(*member, query, name, input, size, value, size_ret);
      if (error == CL_DEVICE_NOT_AVAILABLE) continue;  // lost just now
      return error;
    }
    std::size_t own_size = 0;
    const cl_int error = this->query(*member, query, name, input, std::min(size, sizeof own), own.data(), &own_size);
    if (error == CL_DEVICE_NOT_AVAILABLE) continue;
    if (error != CL_SUCCESS) return error;
    if (std::exchange(answered, own_size) == 0) {
      joint = own;
    } else {
      join(name, joint, own);
    }
  }
  if (answered == 0) return CL_DEVICE_NOT_AVAILABLE;
  std::memcpy(value, joint.data(), answered);
  if (size_ret != nullptr) *size_ret = answered;
  return CL_SUCCESS;
}

cl_int Kernel::query(Device& device, KernelQuery query, cl_uint name, Bytes input, std::size_t size, void* value,
                     std::size_t* size_ret) {
  if (device.is_automatic()) return query_members(device, query, name, input, size, value, size_ret);
  Session& session = device.session();
  program_->ready_on(device);
  const auto answer = ask<NativeAnswer>(
      session,
      [&](Token token) {
        const MutexLock lock(mutex_);
        program_->create_on(session);
        create_on(session);
        session.send(QueryKernel{id_, device.index(), token, query, name, input, value != nullptr ? 1u : 0u, size});
      },
      DriverAnswer::copy_of);
  if (!answer) return CL_DEVICE_NOT_AVAILABLE;
  if (answer->error != CL_SUCCESS) return answer->error;
  // If a server leaves the value out, the application must not mistake the former content of its memory for
  // it.
  if (value != nullptr && (answer->size > size || answer->value.size() < answer->size)) return CL_OUT_OF_RESOURCES;
  if (value != nullptr) std::copy_n(answer->value.begin(), answer->size, static_cast<std::byte*>(value));
  if (size_ret != nullptr) *size_ret = answer->size;
  return CL_SUCCESS;
}

}  // namespace remotecl
