#include <array>

#include "server/session/printing_command.h"
#include "server/session/session.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

using Sizes = std::array<std::size_t, 3>;

Sizes sizes_of(const Extent& extent) { return {extent[0], extent[1], extent[2]}; }

std::uint64_t work_items(std::uint32_t dimensions, const Extent& global) {
  std::uint64_t items = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) items *= global[i];
  return items;
}

struct KernelCommand {
  static constexpr bool kLong = false;

  Ref<Kernel> kernel;
  DeviceKernel* native;
  std::uint32_t dimensions;
  bool has_local;
  Sizes offset, global, local;
  std::shared_ptr<ArgumentSnapshot> arguments;  // null: those that the native kernel has

  void keep(Session& session) {
    arguments = session.snapshot(*native);
    arguments->svm = kernel->svm();
  }

  cl_int issue(Issue& issue) {
    if (arguments != nullptr) {
      native->stale = true;
      cl_int error = arguments->apply(native->native, issue.queue.device());
      if (error == CL_SUCCESS) error = native->use_svm(arguments->svm, issue.queue.device());
      if (error != CL_SUCCESS) return error;
    }
    return clEnqueueNDRangeKernel(issue.queue.native(), native->native, dimensions, offset.data(), global.data(),
                                  has_local ? local.data() : nullptr, issue.wait_count(), issue.wait_list(),
                                  issue.out());
  }
};

// A command that cannot run. It fails where it would have run, behind the transfers that it waits for: the client then
// knows which of those have failed as well.
struct RefusedCommand {
  static constexpr bool kLong = false;

  cl_int error;

  void keep(Session&) {}
  cl_int issue(Issue&) { return error; }
};

}  // namespace

void Session::handle(const CreateKernel& message) {
  Ref<Program> program(programs_.find(message.program));
  if (!program)
    throw ProtocolError("a kernel names program " + std::to_string(message.program) + ", which does not exist");
  if (!kernels_.insert(message.kernel, make_ref<Kernel>(std::move(program), message.name, counters_))) {
    throw ProtocolError("kernel id " + std::to_string(message.kernel) + " is in use");
  }
}

void Session::handle(const ReleaseKernel& message) { kernels_.take(message.kernel); }

void Session::handle(const EnqueueKernel& message) {
  Queue& on = queue(message.queue);
  Event* event = issuer_.begin_event(message.event, on, false);
  Kernel* kernel = kernels_.find(message.kernel);
  if (kernel == nullptr) return issuer_.fail(on, event, CL_INVALID_KERNEL);
  DeviceKernel* native = nullptr;
  cl_int error = kernel->on(on.device(), native);
  if (error == CL_SUCCESS) error = set_arguments(*native, on.device(), message.arguments);
  if (error == CL_SUCCESS) error = native->use_svm(kernel->svm(), on.device());
  if (error == CL_SUCCESS && !native->fits(on.device())) error = CL_OUT_OF_RESOURCES;
  if (error == CL_SUCCESS && (message.dimensions < 1 || message.dimensions > 3)) {
    error = CL_INVALID_WORK_DIMENSION;
  }
  if (error != CL_SUCCESS) return issuer_.submit(on, event, message.wait_list, RefusedCommand{error});
  KernelCommand command{Ref<Kernel>(kernel),      native,
                        message.dimensions,       message.has_local != 0,
                        sizes_of(message.offset), sizes_of(message.global),
                        sizes_of(message.local),  nullptr};
  if (kernel->prints()) {
    issuer_.submit(on, event, message.wait_list, PrintingCommand<KernelCommand>{this, std::move(command)});
  } else {
    if (event != nullptr && event->trace.number != 0) {
      issuer_.trace_kernel(on, *event, *native->pace, work_items(message.dimensions, message.global));
    }
    issuer_.submit(on, event, message.wait_list, std::move(command));
  }
}

// Stores what changed and brings the native kernel up to date. What fails here is set again with the next
// command.
cl_int Session::set_arguments(DeviceKernel& kernel, Device& device, const Sequence<KernelArgument>& changed) {
  cl_int error = CL_SUCCESS;
  changed.for_each([&](const KernelArgument& argument) {
    if (argument.index >= kernel.arguments.size()) {
      error = CL_INVALID_ARG_INDEX;
      return;
    }
    StoredArgument& stored = kernel.arguments[argument.index];
    if (stored.fits(argument.value.size())) [[likely]] {
      stored.set(argument);
    } else {
      try {
        kernel.set(argument);
      } catch (const HeldTooMuch& refusal) {
        error = issuer_.refused(refusal);
        return;
      }
    }
    if (!kernel.stale && error == CL_SUCCESS) error = set_argument(kernel, device, argument.index);
  });
  if (error == CL_SUCCESS) error = check_arguments(kernel);
  if (kernel.stale && error == CL_SUCCESS) {
    for (std::uint32_t index = 0; index < kernel.arguments.size() && error == CL_SUCCESS; ++index) {
      if (kernel.arguments[index].is_set()) error = set_argument(kernel, device, index);
    }
  }
  kernel.stale = error != CL_SUCCESS;
  return error;
}

cl_int Session::set_argument(DeviceKernel& kernel, Device& device, std::uint32_t index) {
  const StoredArgument& argument = kernel.arguments[index];
  if (!kernel.takes(index, argument.kind())) return CL_INVALID_ARG_VALUE;
  if (argument.kind() == ArgumentKind::kValue) {
    return clSetKernelArg(kernel.native, index, argument.value().size(), argument.value().data());
  }
  if (argument.kind() == ArgumentKind::kLocal) {
    return clSetKernelArg(kernel.native, index, argument.number(), nullptr);
  }
  if (argument.kind() == ArgumentKind::kSvm) {
    const Buffer* buffer = find_svm(argument.number());
    if (buffer == nullptr || !buffer->svm()->usable_on(device)) return CL_INVALID_ARG_VALUE;
    return clSetKernelArgSVMPointer(kernel.native, index, reinterpret_cast<void*>(argument.number()));
  }
  if (argument.kind() == ArgumentKind::kSampler) {
    Sampler* sampler = samplers_.find(argument.number());
    if (sampler == nullptr) return CL_INVALID_SAMPLER;
    cl_sampler native = nullptr;
    const cl_int error = sampler->native(device, native);
    return error != CL_SUCCESS ? error : clSetKernelArg(kernel.native, index, sizeof native, &native);
  }
  if (argument.kind() != ArgumentKind::kMemory && argument.kind() != ArgumentKind::kImage) return CL_INVALID_ARG_VALUE;
  cl_mem native = nullptr;
  if (argument.number() == 0 && argument.kind() == ArgumentKind::kImage) return CL_INVALID_MEM_OBJECT;
  if (argument.number() != 0) {
    Memory* memory = memory_of(argument);
    if (memory == nullptr) return CL_INVALID_MEM_OBJECT;
    const cl_mem_object_type wanted = kernel.traits.arguments[index].image_type;
    const bool is_image = argument.kind() == ArgumentKind::kImage;
    if (is_image && wanted != 0 && static_cast<Image*>(memory)->shape().type != wanted) return CL_INVALID_ARG_VALUE;
    const cl_int error = memory->native(device, native);
    if (error != CL_SUCCESS) return error;
  }
  return clSetKernelArg(kernel.native, index, sizeof native, &native);
}

// The buffer, image or shared memory that an argument names; null when there is none.
Memory* Session::memory_of(const StoredArgument& argument) const {
  if (argument.kind() == ArgumentKind::kMemory) return buffers_.find(argument.number());
  if (argument.kind() == ArgumentKind::kImage) return images_.find(argument.number());
  if (argument.kind() == ArgumentKind::kSvm) return find_svm(argument.number());
  return nullptr;
}

// A driver may trust the objects that a kernel was given. The client released some since: look again.
cl_int Session::check_arguments(DeviceKernel& kernel) {
  if (kernel.checked_at == released_arguments_) return CL_SUCCESS;
  for (const StoredArgument& argument : kernel.arguments) {
    if (!argument.is_set() || argument.number() == 0 || argument.kind() == ArgumentKind::kLocal) continue;
    const bool exists = argument.kind() == ArgumentKind::kSampler ? samplers_.find(argument.number()) != nullptr
                                                                  : memory_of(argument) != nullptr;
    if (!exists) return CL_INVALID_KERNEL_ARGS;
  }
  kernel.checked_at = released_arguments_;
  return CL_SUCCESS;
}

std::shared_ptr<ArgumentSnapshot> Session::snapshot(const DeviceKernel& kernel) {
  auto snapshot = std::make_shared<ArgumentSnapshot>(counters_, kernel.arguments);
  for (std::size_t index = 0; index < kernel.arguments.size(); ++index) {
    const StoredArgument& argument = kernel.arguments[index];
    if (!argument.is_set()) continue;
    snapshot->memory[index] = Ref<Memory>(memory_of(argument));
    if (argument.kind() == ArgumentKind::kSampler) {
      snapshot->samplers[index] = Ref<Sampler>(samplers_.find(argument.number()));
    }
  }
  return snapshot;
}

}  // namespace remotecl::server
