#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/client/commands/commands.h"
#include "runtime/client/program/driver_answer.h"
#include "runtime/client/session/request.h"

namespace remotecl {

namespace {

// A size whose smallest factor is larger than this becomes 1, because it is of no use for groups.
constexpr std::size_t kFactorMax = 1024;

// Divides the sizes by as few of their factors as necessary to keep the limits, so that each still divides whatever it
// divided before.
void fit(std::span<std::size_t> sizes, std::span<const std::size_t> item_limits, std::size_t group_limit) {
  const auto reduce = [](std::size_t& size) {
    std::size_t factor = 2;
    while (factor <= kFactorMax && size % factor != 0) ++factor;
    size = factor <= kFactorMax ? size / factor : 1;
  };
  std::size_t product = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    while (sizes[i] > 1 && sizes[i] > item_limits[i]) reduce(sizes[i]);
    product *= sizes[i];
  }
  while (product > group_limit && product > 1) {
    std::size_t& largest = *std::ranges::max_element(sizes);
    product /= largest;
    reduce(largest);
    product *= largest;
  }
}

// The suggestion of one member, reduced until it is valid for all.
cl_int suggest_for_members(CommandQueue& queue, Kernel& kernel, const NDRange& range, std::size_t* suggested) {
  const Device& device = queue.device();
  for (Device* member : device.members()) {
    if (member->lost() || !kernel.program().ready_on(*member)) continue;
    const cl_int error = suggest_local_size(queue.context().transfer_queue_on(*member), kernel, range, suggested);
    if (error == CL_DEVICE_NOT_AVAILABLE) continue;  // lost just now
    if (error != CL_SUCCESS) return error;
    const auto limits = device.number<Extent>(CL_DEVICE_MAX_WORK_ITEM_SIZES, {SIZE_MAX, SIZE_MAX, SIZE_MAX});
    const std::size_t group_limit = kernel.info_on(device).work_group_size;
    fit({suggested, range.dimensions}, limits, group_limit == 0 ? SIZE_MAX : group_limit);
    return CL_SUCCESS;
  }
  return CL_DEVICE_NOT_AVAILABLE;
}

}  // namespace

cl_int suggest_local_size(CommandQueue& queue, Kernel& kernel, const NDRange& range, std::size_t* suggested) {
  if (queue.device().is_automatic()) return suggest_for_members(queue, kernel, range, suggested);
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
