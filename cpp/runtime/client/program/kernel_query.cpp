// Queries that a kernel's native driver must answer.
#include <algorithm>
#include <cstring>

#include "runtime/client/program/driver_answer.h"
#include "runtime/client/program/kernel.h"
#include "runtime/client/session/request.h"

namespace remotecl {

cl_int Kernel::query(Device& device, KernelQuery query, cl_uint name, Bytes input, std::size_t size, void* value,
                     std::size_t* size_ret) {
  if (device.is_automatic()) {
    for (Device* member : device.members()) {
      if (member->lost() || !program_->ready_on(*member)) continue;
      const cl_int error = this->query(*member, query, name, input, size, value, size_ret);
      if (error != CL_DEVICE_NOT_AVAILABLE) return error;  // else it was lost just now
    }
    return CL_DEVICE_NOT_AVAILABLE;
  }
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
