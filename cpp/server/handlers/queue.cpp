#include <memory>

#include "server/handlers/handlers.h"
#include "server/handlers/svm.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

struct MarkerCommand {
  static constexpr bool kLong = false;

  bool is_barrier;
  bool waits_for_all;

  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    cl_command_queue native = issue.queue.native();
    cl_uint count = issue.wait_count();
    // An empty list means "all" to the driver. On a queue in order that makes no difference. Out of order, it
    // is either intended, or all events of the list have ended; then the marker waits for more than it must,
    // but only for commands that end by themselves.
    if (waits_for_all && !issue.queue.in_order() && count > 0) {
      const cl_int error = clEnqueueMarkerWithWaitList(native, count, issue.wait_list(), nullptr);
      if (error != CL_SUCCESS) return error;
      count = 0;
    }
    const cl_event* list = count > 0 ? issue.wait_list() : nullptr;
    // In an in-order queue both are the same.
    if (issue.queue.ends_by_barriers()) return clEnqueueBarrierWithWaitList(native, count, list, issue.out());
    if (is_barrier) {
      // Some drivers, such as NVIDIA's, have no timestamps for barriers. If they are wanted, a marker behind
      // the barrier provides them.
      const bool timed = issue.queue.profiling() && issue.out() != nullptr;
      const cl_int error = clEnqueueBarrierWithWaitList(native, count, list, timed ? nullptr : issue.out());
      if (error != CL_SUCCESS || !timed) return error;
    }
    return clEnqueueMarkerWithWaitList(native, count, list, issue.out());
  }
};

struct FinishCommand {
  static constexpr bool kLong = false;
  static constexpr bool kReplies = true;
  static constexpr bool kNeedsNoDriver = true;

  Session* session;
  Token token;

  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    issue.enqueued = false;
    cl_int error = CL_SUCCESS;
    const bool is_refused = issue.queue.native() == nullptr;
    if (!is_refused && (!issue.queue.native_idle() || issue.queue.device().traits().is_custom)) {
      error = session->queue_watch().report_finished(issue.queue, token);
      session->issuer().touch(issue.queue);
      if (error == CL_SUCCESS) return CL_SUCCESS;
      session->outbox().add(CommandFailed{issue.queue.id(), 0, error});
    }
    session->outbox().add(Finished{token});
    return CL_SUCCESS;
  }
};

}  // namespace

void handle(Session& session, const CreateQueue& message) {
  constexpr std::uint64_t kKnown = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
  Device& device = session.objects().device(message.device);
  auto queue = make_ref<Queue>(message.queue, device, message.properties & kKnown, session.objects().blocks,
                               session.objects().turn_on(device));
  if (queue->native() != nullptr && device.calls_back_late()) {
    cl_int error = CL_SUCCESS;
    session.completions().expect_late(device.context(error));
  }
  if (!session.objects().queues.insert(message.queue, std::move(queue))) {
    throw ProtocolError("queue id " + std::to_string(message.queue) + " cannot be used or is in use");
  }
}

void handle(Session& session, const ReleaseQueue& message) {
  if (Queue* queue = session.objects().queues.find(message.queue)) keep_svm(session, *queue);
  session.issuer().flush_queues();
  session.objects().queues.take(message.queue);
}

void handle(Session& session, const EnqueueMarker& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, false);
  const bool all = message.waits_for_all != 0;
  const bool barrier = message.is_barrier != 0;
  session.issuer().submit(on, event, message.wait_list, MarkerCommand{barrier, all}, all, barrier);
}

void handle(Session& session, const Finish& message) {
  Queue& on = session.objects().queue(message.queue);
  session.issuer().submit(on, nullptr, {}, FinishCommand{&session, message.token}, true);
}

}  // namespace remotecl::server
