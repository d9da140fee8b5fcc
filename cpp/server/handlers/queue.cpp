#include <memory>

#include "server/completion/completion_notifier.h"
#include "server/session/session.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

struct MarkerCommand {
  static constexpr bool kLong = false;

  bool is_barrier;
  bool waits_for_all;

  void keep(Session&) {}
  cl_int issue(Issue& issue) {
    cl_command_queue native = issue.queue.native();
    cl_uint count = issue.wait_count();
    // An empty list means "all" to the driver. In order that is so anyway; out of order it is meant, or nothing is left
    // to wait for and it waits for commands that end by themselves.
    if (waits_for_all && !issue.queue.in_order() && count > 0) {
      const cl_int error = clEnqueueMarkerWithWaitList(native, count, issue.wait_list(), nullptr);
      if (error != CL_SUCCESS) return error;
      count = 0;
    }
    const cl_event* list = count > 0 ? issue.wait_list() : nullptr;
    if (is_barrier) {
      // Some drivers have no times of barriers (NVIDIA's), so a marker behind it stands for it where they are wanted.
      const bool timed = issue.queue.profiling() && issue.out() != nullptr;
      const cl_int error = clEnqueueBarrierWithWaitList(native, count, list, timed ? nullptr : issue.out());
      if (error != CL_SUCCESS || !timed) return error;
    }
    return clEnqueueMarkerWithWaitList(native, count, list, issue.out());
  }
};

struct FinishCommand {
  static constexpr bool kLong = false;
  static constexpr bool kAnswers = true;

  Session* session;
  Token token;

  void keep(Session&) {}
  cl_int issue(Issue& issue) {
    if (issue.queue.native_idle()) {
      session->outbox().add(Finished{token});
      issue.enqueued = false;
      return CL_SUCCESS;
    }
    issue.enqueued = false;
    const cl_int error = session->tell_finished(issue.queue, token);
    if (error == CL_SUCCESS) return CL_SUCCESS;
    session->outbox().add(CommandFailed{issue.queue.id(), 0, error});
    session->outbox().add(Finished{token});
    return CL_SUCCESS;
  }
};

}  // namespace

template <class Then>
cl_int Session::when_ended(Queue& queue, Then then, Worker& worker) {
  const std::uint64_t count = queue.native_commands();
  if (queue.marks_slowly()) {
    clRetainCommandQueue(queue.native());
    // Given back where the worker drops this, too.
    const std::shared_ptr<_cl_command_queue> native(queue.native(), clReleaseCommandQueue);
    worker.post([native, progress = queue.progress(), count, then = std::move(then)] {
      clFinish(native.get());
      progress->ended(count);
      then();
    });
    return CL_SUCCESS;
  }
  cl_event marker = nullptr;
  const cl_int error = queue.mark(marker);
  if (error != CL_SUCCESS) return error;
  CompletionNotifier::notify(marker, *this, [progress = queue.progress(), count, then = std::move(then)](cl_int) {
    progress->ended(count);
    then();
  });
  clReleaseEvent(marker);
  issuer_.touch(queue);
  return CL_SUCCESS;
}

cl_int Session::tell_finished(Queue& queue, Token token) {
  const auto then = [session = Ref<Session>(this), token, held = hold_answer()] {
    session->outbox_.send(Finished{token});
  };
  return when_ended(queue, then, finishers_);
}

bool Session::count_backlog(Queue& queue, std::uint64_t size) {
  const bool is_far_ahead = backlog_->add(size);
  const auto then = [backlog = backlog_, size] { backlog->remove(size); };
  if (when_ended(queue, then, searchers_) != CL_SUCCESS) then();
  return is_far_ahead;
}

void Session::find_ends() {
  // Whoever works with the session goes first.
  if (!mutex_.try_lock()) return;
  if (!closed_) {
    queues_.for_each([this](Queue& queue) {
      if (queue.native() == nullptr || queue.has_become_idle() || queue.progress()->begin_search()) return;
      const auto then = [progress = queue.progress()] { progress->end_search(); };
      if (when_ended(queue, then, searchers_) != CL_SUCCESS) then();
    });
    issuer_.flush_queues();
  }
  mutex_.unlock();
}

Queue& Session::queue(ObjectId id) {
  Queue* queue = queues_.find(id);
  if (queue == nullptr) throw ProtocolError("queue " + std::to_string(id) + " does not exist");
  return *queue;
}

Ref<DeviceTurn> Session::turn_on(Device& device) {
  Ref<DeviceTurn>& turn = turns_[device.root().index()];
  if (!turn) {
    turn = device.turns()->join(id_, grant_->weight(), grant_->queued_commands_max(),
                                grant_->command_time_max().has_value());
  }
  return turn;
}

void Session::handle(const CreateQueue& message) {
  constexpr std::uint64_t kKnown = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
  auto queue = make_ref<Queue>(message.queue, device(message.device), message.properties & kKnown, blocks_,
                               turn_on(device(message.device)));
  if (!queues_.insert(message.queue, std::move(queue))) {
    throw ProtocolError("queue id " + std::to_string(message.queue) + " cannot be used or is in use");
  }
}

void Session::handle(const ReleaseQueue& message) {
  if (Queue* queue = queues_.find(message.queue)) keep_svm(*queue);
  issuer_.flush_queues();
  queues_.take(message.queue);
}

void Session::handle(const EnqueueMarker& message) {
  Queue& on = queue(message.queue);
  Event* event = issuer_.begin_event(message.event, on, false);
  const bool all = message.waits_for_all != 0;
  const bool barrier = message.is_barrier != 0;
  issuer_.submit(on, event, message.wait_list, MarkerCommand{barrier, all}, all, barrier);
}

void Session::handle(const Finish& message) {
  Queue& on = queue(message.queue);
  if (on.native() == nullptr) {
    outbox_.add(Finished{message.token});
    return;
  }
  issuer_.submit(on, nullptr, {}, FinishCommand{this, message.token}, true);
}

}  // namespace remotecl::server
