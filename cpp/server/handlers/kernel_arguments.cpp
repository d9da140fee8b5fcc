#include "server/handlers/kernel_arguments.h"

namespace remotecl::server {
namespace {

cl_int set_argument(SessionObjects& objects, DeviceKernel& kernel, Device& device, std::uint32_t index)
    REQUIRES(session_lock) {
  const StoredArgument& argument = kernel.arguments[index];
  if (!kernel.takes(index, argument.kind())) return CL_INVALID_ARG_VALUE;
  if (argument.kind() == ArgumentKind::kValue) {
    return clSetKernelArg(kernel.native, index, argument.value().size(), argument.value().data());
  }
  if (argument.kind() == ArgumentKind::kLocal) {
    return clSetKernelArg(kernel.native, index, argument.number(), nullptr);
  }
  if (argument.kind() == ArgumentKind::kSvm) {
    const Buffer* buffer = objects.svm_at(argument.number());
    if (buffer == nullptr || !buffer->svm()->usable_on(device)) return CL_INVALID_ARG_VALUE;
    return clSetKernelArgSVMPointer(kernel.native, index, reinterpret_cast<void*>(argument.number()));
  }
  if (argument.kind() == ArgumentKind::kSampler) {
    Sampler* sampler = objects.samplers.find(argument.number());
    if (sampler == nullptr) return CL_INVALID_SAMPLER;
    cl_sampler native = nullptr;
    const cl_int error = sampler->native(device, native);
    return error != CL_SUCCESS ? error : clSetKernelArg(kernel.native, index, sizeof native, &native);
  }
  if (argument.kind() != ArgumentKind::kMemory && argument.kind() != ArgumentKind::kImage) return CL_INVALID_ARG_VALUE;
  cl_mem native = nullptr;
  if (argument.number() == 0 && argument.kind() == ArgumentKind::kImage) return CL_INVALID_MEM_OBJECT;
  if (argument.number() != 0) {
    Memory* memory = objects.memory_of(argument);
    if (memory == nullptr) return CL_INVALID_MEM_OBJECT;
    const cl_mem_object_type wanted = kernel.traits.arguments[index].image_type;
    const bool is_image = argument.kind() == ArgumentKind::kImage;
    if (is_image && wanted != 0 && static_cast<Image*>(memory)->shape().type != wanted) return CL_INVALID_ARG_VALUE;
    const cl_int error = memory->native(device, native);
    if (error != CL_SUCCESS) return error;
  }
  return clSetKernelArg(kernel.native, index, sizeof native, &native);
}

// Drivers may trust the objects that a kernel was given, so checks them again if the client has released any
// since.
cl_int check_arguments(const SessionObjects& objects, DeviceKernel& kernel) REQUIRES(session_lock) {
  if (kernel.checked_at == objects.released_arguments) return CL_SUCCESS;
  for (const StoredArgument& argument : kernel.arguments) {
    if (!argument.is_set() || argument.number() == 0 || argument.kind() == ArgumentKind::kLocal) continue;
    const bool exists = argument.kind() == ArgumentKind::kSampler ? objects.samplers.find(argument.number()) != nullptr
                                                                  : objects.memory_of(argument) != nullptr;
    if (!exists) return CL_INVALID_KERNEL_ARGS;
  }
  kernel.checked_at = objects.released_arguments;
  return CL_SUCCESS;
}

}  // namespace

cl_int set_arguments(Session& session, DeviceKernel& kernel, Device& device, const Sequence<KernelArgument>& changed) {
  SessionObjects& objects = session.objects();
  cl_int error = CL_SUCCESS;
  changed.for_each([&](const KernelArgument& argument) {
    session_lock.assume_held();
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
        error = session.issuer().refused(refusal);
        return;
      }
    }
    if (!kernel.stale && error == CL_SUCCESS) error = set_argument(objects, kernel, device, argument.index);
  });
  if (error == CL_SUCCESS) error = check_arguments(objects, kernel);
  if (kernel.stale && error == CL_SUCCESS) {
    for (std::uint32_t index = 0; index < kernel.arguments.size() && error == CL_SUCCESS; ++index) {
      if (kernel.arguments[index].is_set()) error = set_argument(objects, kernel, device, index);
    }
  }
  kernel.stale = error != CL_SUCCESS;
  return error;
}

std::shared_ptr<ArgumentSnapshot> snapshot(const SessionObjects& objects, const DeviceKernel& kernel) {
  auto snapshot = std::make_shared<ArgumentSnapshot>(objects.counters(), kernel.arguments);
  for (std::size_t index = 0; index < kernel.arguments.size(); ++index) {
    const StoredArgument& argument = kernel.arguments[index];
    if (!argument.is_set()) continue;
    snapshot->memory[index] = Ref<Memory>(objects.memory_of(argument));
    if (argument.kind() == ArgumentKind::kSampler) {
      snapshot->samplers[index] = Ref<Sampler>(objects.samplers.find(argument.number()));
    }
  }
  return snapshot;
}

}  // namespace remotecl::server
