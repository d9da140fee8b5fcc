#include "server/handlers/handlers.h"
#include "server/handlers/kernel_arguments.h"
#include "server/handlers/submit_kernels.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

struct KernelCommand {
  static constexpr bool kLong = false;
  static constexpr bool kRunsKernels = true;
  static constexpr bool kHasBytesBefore = true;

  SessionObjects* objects;
  Ref<Kernel> kernel;
  DeviceKernel* native;
  KernelRange range;
  std::shared_ptr<ArgumentSnapshot> arguments;  // null: the native kernel has them

  void keep() REQUIRES(session_lock) {
    arguments = snapshot(*objects, *native);
    arguments->svm = kernel->svm();
  }

  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    if (arguments != nullptr) {
      native->stale = true;
      cl_int error = arguments->apply(native->native, issue.queue.device());
      if (error == CL_SUCCESS) error = native->use_svm(arguments->svm, issue.queue.device());
      if (error != CL_SUCCESS) return error;
    }
    return range.enqueue(issue.queue.native(), native->native, issue.arguments());
  }
};

// A command that cannot run. It fails where it would have run, after the transfers that it waits for, so that
// the client has learned which of those failed.
struct RefusedCommand {
  static constexpr bool kLong = false;

  cl_int error;

  cl_int issue(Issue&) REQUIRES(session_lock) { return error; }
};

}  // namespace

void handle(Session& session, const CreateKernel& message) {
  Ref<Program> program(session.objects().programs.find(message.program));
  if (!program)
    throw ProtocolError("a kernel names program " + std::to_string(message.program) + ", which does not exist");
  if (!session.objects().kernels.insert(message.kernel,
                                        make_ref<Kernel>(std::move(program), message.name, session.counters()))) {
    throw ProtocolError("kernel id " + std::to_string(message.kernel) + " is in use");
  }
}

void handle(Session& session, const ReleaseKernel& message) { session.objects().kernels.take(message.kernel); }

void handle(Session& session, const EnqueueKernel& message) {
  Queue& on = session.objects().queue(message.queue);
  Kernel* kernel = session.objects().kernels.find(message.kernel);
  DeviceKernel* native = nullptr;
  cl_int error = kernel == nullptr ? CL_INVALID_KERNEL : kernel->on(on.device(), native);
  Event* event = session.issuer().begin_event(message.event, on, false);
  if (kernel == nullptr) return session.issuer().fail(on, event, error);
  if (error == CL_SUCCESS) error = prepare(session, message, *kernel, *native, on.device());
  if (error != CL_SUCCESS) return session.issuer().submit(on, event, message.wait_list, RefusedCommand{error});
  KernelCommand command{&session.objects(), Ref<Kernel>(kernel), native, range_of(message), nullptr};
  submit_kernels(session, on, event, message.wait_list, kernel->prints(), provided_for(session.objects(), *native),
                 std::move(command));
}

}  // namespace remotecl::server
