#include <algorithm>
#include <cstring>

#include "runtime/client/commands/commands.h"
#include "runtime/client/program/driver_answer.h"
#include "runtime/client/session/request.h"

namespace remotecl {

cl_int suggest_local_size(CommandQueue& queue, Kernel& kernel, const NDRange& range, std::size_t* suggested) {
  if (queue.device().is_automatic()) {
    // A size that suits one member is a valid one for the others.
    for (Device* member : queue.device().members()) {
      if (!kernel.program().ready_on(*member) || member->lost()) continue;
      return suggest_local_size(queue.context().transfer_queue_on(*member), kernel, range, suggested);
    }
    return CL_INVALID_PROGRAM_EXECUTABLE;
  }
  Session& session = queue.session();
  const auto answer = ask<NativeAnswer>(
      session,
      [&](Token token) {
        const MutexLock memory_lock(queue.context().memory_mutex());
        const MutexLock lock(kernel.mutex());
        kernel.program().create_on(session);
        kernel.create_on(session);
        std::vector<std::uint64_t>& sent = kernel.sent_versions(queue.device());
        std::vector<KernelArgument> changed;
        for (std::uint32_t i = 0; i < sent.size(); ++i) {
          const Kernel::Argument& argument = kernel.arguments()[i];
          if (argument.memory) argument.memory->create_on(session);
          if (argument.version <= std::exchange(sent[i], argument.version)) continue;
          changed.push_back(encode_argument(i, argument));
        }
        session.send(SuggestLocalSize{queue.id(), kernel.id(), token, range.dimensions, range.offset, range.global,
                                      std::span<const KernelArgument>(changed)});
      },
      DriverAnswer::copy_of);
  if (!answer) return CL_DEVICE_NOT_AVAILABLE;
  if (answer->error != CL_SUCCESS) return answer->error;
  Extent sizes{};
  if (answer->value.size() != sizeof sizes) return CL_OUT_OF_RESOURCES;
  std::memcpy(sizes.data(), answer->value.data(), sizeof sizes);
  for (cl_uint i = 0; i < range.dimensions; ++i) suggested[i] = sizes[i];
  return CL_SUCCESS;
}

}  // namespace remotecl
