// Queries about a kernel that depend on more than the kernel.
#include <algorithm>
#include <array>

#include "server/handlers/handlers.h"
#include "server/handlers/kernel_arguments.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

constexpr std::size_t kAnswerSizeMax = 4096;

struct QueryAnswer {
  cl_int error = CL_SUCCESS;
  std::size_t size = 0;
  std::vector<std::byte> value;
};

cl_int sub_group_info(const Device& device, cl_kernel kernel, const QueryKernel& message, std::size_t size, void* value,
                      std::size_t& size_ret) {
  const void* input = message.input.empty() ? nullptr : message.input.data();
  if (device.traits().version >= 21) {
    return clGetKernelSubGroupInfo(kernel, device.id(), message.name, message.input.size(), input, size, value,
                                   &size_ret);
  }
  const auto function = device.extension<clGetKernelSubGroupInfoKHR_fn>("clGetKernelSubGroupInfoKHR");
  if (function == nullptr) return CL_INVALID_OPERATION;
  return function(kernel, device.id(), message.name, message.input.size(), input, size, value, &size_ret);
}

QueryAnswer ask(const Device& device, cl_kernel kernel, const QueryKernel& message) {
  QueryAnswer answer;
  const std::size_t size = std::min<std::uint64_t>(message.size, kAnswerSizeMax);
  if (message.has_value != 0) answer.value.resize(size);
  std::byte* value = message.has_value != 0 ? answer.value.data() : nullptr;
  switch (message.query) {
    case KernelQuery::kWorkGroup:
      answer.error = clGetKernelWorkGroupInfo(kernel, device.id(), message.name, size, value, &answer.size);
      break;
    case KernelQuery::kSubGroup:
      answer.error = sub_group_info(device, kernel, message, size, value, answer.size);
      break;
    default:
      answer.error = CL_INVALID_VALUE;
  }
  if (answer.error != CL_SUCCESS) answer = {answer.error, 0, {}};
  answer.value.resize(std::min(answer.value.size(), answer.size));
  return answer;
}

}  // namespace

void handle(Session& session, const QueryKernel& message) {
  Device& on = session.objects().device(message.device);
  Kernel* kernel = session.objects().kernels.find(message.kernel);
  QueryAnswer answer{kernel == nullptr ? CL_INVALID_KERNEL : CL_SUCCESS, 0, {}};
  DeviceKernel* native = nullptr;
  if (kernel != nullptr) answer.error = kernel->on(on, native);
  if (answer.error == CL_SUCCESS) answer = ask(on, native->native, message);
  session.outbox().send(NativeAnswer{message.token, answer.error, answer.size, answer.value});
}

void handle(Session& session, const SuggestLocalSize& message) {
  Queue& on = session.objects().queue(message.queue);
  Kernel* kernel = session.objects().kernels.find(message.kernel);
  DeviceKernel* native = nullptr;
  cl_int error = kernel == nullptr ? CL_INVALID_KERNEL : kernel->on(on.device(), native);
  if (error == CL_SUCCESS) error = set_arguments(session, *native, on.device(), message.arguments);
  if (error == CL_SUCCESS) error = on.error();
  const auto function =
      on.device().extension<clGetKernelSuggestedLocalWorkSizeKHR_fn>("clGetKernelSuggestedLocalWorkSizeKHR");
  if (error == CL_SUCCESS && function == nullptr) error = CL_INVALID_OPERATION;
  Sizes local{};
  if (error == CL_SUCCESS && (message.dimensions < 1 || message.dimensions > 3)) error = CL_INVALID_WORK_DIMENSION;
  if (error == CL_SUCCESS) {
    const Sizes offset = sizes_of(message.offset), global = sizes_of(message.global);
    error = function(on.native(), native->native, message.dimensions, offset.data(), global.data(), local.data());
  }
  session.outbox().send(NativeAnswer{message.token, error, sizeof local, std::as_bytes(std::span(local))});
}

}  // namespace remotecl::server
