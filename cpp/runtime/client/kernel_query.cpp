// What a kernel's native driver is asked for.
#include <cstring>

#include "runtime/client/ask.h"
#include "runtime/client/commands.h"

namespace remotecl {
namespace {

struct Answer {
  cl_int error;
  std::size_t size;
  std::vector<std::byte> value;
};

Answer take_answer(const NativeAnswer& report) {
  return {report.error, report.size, {report.value.begin(), report.value.end()}};
}

}  // namespace

cl_int Kernel::query(Device& device, KernelQuery query, cl_uint name, Bytes input, std::size_t size, void* value,
                     std::size_t* size_ret) {
  Session& session = device.session();
  const auto answer = ask<NativeAnswer>(
      session,
      [&](Token token) {
        const std::lock_guard lock(mutex_);
        program_->create_on(session);
        create_on(session);
        session.send(QueryKernel{id_, device.index(), token, query, name, input, value != nullptr ? 1u : 0u, size});
      },
      take_answer);
  if (!answer) return CL_DEVICE_NOT_AVAILABLE;
  if (answer->error != CL_SUCCESS) return answer->error;
  if (value != nullptr) std::memcpy(value, answer->value.data(), std::min(size, answer->value.size()));
  if (size_ret != nullptr) *size_ret = answer->size;
  return CL_SUCCESS;
}

cl_int suggest_local_size(CommandQueue& queue, Kernel& kernel, const NDRange& range, std::size_t* suggested) {
  Session& session = queue.session();
  const auto answer = ask<NativeAnswer>(
      session,
      [&](Token token) {
        const std::lock_guard memory_lock(queue.context().memory_mutex());
        const std::lock_guard lock(kernel.mutex());
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
      take_answer);
  if (!answer) return CL_DEVICE_NOT_AVAILABLE;
  if (answer->error != CL_SUCCESS) return answer->error;
  Extent sizes{};
  std::memcpy(sizes.data(), answer->value.data(), std::min(sizeof sizes, answer->value.size()));
  for (cl_uint i = 0; i < range.dimensions; ++i) suggested[i] = sizes[i];
  return CL_SUCCESS;
}

}  // namespace remotecl
