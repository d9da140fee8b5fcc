#include "server/execution/queue_watch.h"

#include <memory>
#include <system_error>
#include <utility>

#include "server/completion/completion_notifier.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

template <class Then>
cl_int QueueWatch::when_ended(Queue& queue, Then then, Worker& worker) {
  const std::uint64_t count = queue.native_commands();
  if (queue.marks_slowly()) {
    clRetainCommandQueue(queue.native());
    // Also released if the worker drops this job.
    const std::shared_ptr<_cl_command_queue> native(queue.native(), clReleaseCommandQueue);
    try {
      worker.post([native, progress = queue.progress(), count, then = std::move(then)] {
        const cl_int error = clFinish(native.get());
        progress->ended(count);
        then(error);
      });
    } catch (const std::exception&) {  // no thread
      return CL_OUT_OF_RESOURCES;
    }
    return CL_SUCCESS;
  }
  Native<cl_event> marker;
  const cl_int error = queue.mark(marker);
  if (error != CL_SUCCESS) return error;
  strand_.completions().notify(marker.get(),
                               [progress = queue.progress(), count, then = std::move(then)](cl_int status) {
                                 progress->ended(count);
                                 then(status);
                               });
  return CL_SUCCESS;
}

cl_int QueueWatch::report_finished(Queue& queue, Token token) {
  const auto then = [this, strand = Ref<Strand>(&strand_), id = queue.id(), token, progress = queue.progress(),
                     count = queue.native_commands(), in_order = queue.in_order(),
                     is_custom = queue.device().traits().is_custom, held = hold_reply(counters_)](cl_int status) {
    if (status >= 0 && !is_custom) return outbox_.send(Finished{token});
    // Reports failed commands even if the client has not asked for their events.
    strand->later([this, id, token, progress, count, in_order, status, held]() REQUIRES(session_lock) {
      const std::uint64_t known = events_.report_failures(id);
      const bool is_new = status < 0 && progress->take_failure(count, known, in_order);
      if (is_new) outbox_.add(CommandFailed{id, 0, status});
      outbox_.send(Finished{token});
    });
  };
  return when_ended(queue, then, finishers_);
}

cl_int QueueWatch::run_after(Queue& queue, std::function<void()> action) {
  const auto then = [strand = Ref<Strand>(&strand_), action = std::move(action), held = hold_reply(counters_)](cl_int) {
    strand->later(action);
  };
  return when_ended(queue, then, finishers_);
}

bool QueueWatch::count_backlog(Queue& queue, std::uint64_t size) {
  const bool is_far_ahead = backlog_->add(size);
  const auto then = [backlog = backlog_, size](cl_int) { backlog->remove(size); };
  if (when_ended(queue, then, searchers_) != CL_SUCCESS) then(CL_SUCCESS);
  return is_far_ahead;
}

bool QueueWatch::find_end(Queue& queue) {
  if (queue.native() == nullptr || queue.has_become_idle() || queue.progress()->begin_search()) return false;
  const auto then = [progress = queue.progress()](cl_int) { progress->end_search(); };
  if (when_ended(queue, then, searchers_) == CL_SUCCESS) return true;
  then(CL_SUCCESS);
  return false;
}

void QueueWatch::stop() {
  finishers_.stop();
  searchers_.stop();
}

}  // namespace remotecl::server
