#include "server/session/printf_execution.h"

#include <memory>
#include <vector>

#include "server/completion/completion_notifier.h"
#include "server/completion/native.h"
#include "server/util/format.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

// Sends text as fast as the client reads it and as others' turns allow.
class OutputSender {
 public:
  OutputSender(Outbox& outbox, PrintingPatience& patience, const StdoutCapture& capture)
      : outbox_(outbox), patience_(patience), capture_(capture) {}
  // Informs the client of what it has missed.
  ~OutputSender() {
    if (lost_ == 0) return;
    log_warning("does not read what its kernels print; {} bytes of it are lost", lost_);
    outbox_.send(KernelOutput{as_bytes(format_text(
        "\nremotecl: {} bytes that kernels printed are missing here; this program did not read them in time\n",
        lost_))});
  }
  OutputSender(const OutputSender&) = delete;
  OutputSender& operator=(const OutputSender&) = delete;

  void take(std::string_view text) {
    if (lost_ == 0 && patience_.await_room(outbox_, capture_)) return outbox_.send(KernelOutput{as_bytes(text)});
    lost_ += text.size();
  }

 private:
  Outbox& outbox_;
  PrintingPatience& patience_;
  const StdoutCapture& capture_;
  std::uint64_t lost_ = 0;
};

// Waits on this thread for events, but outside of the driver: inside, NVIDIA's holds a lock that all other
// commands of the session need.
void await(const CompletionNotifier& completions, std::span<const cl_event> events) {
  struct Ends {
    Mutex mutex;
    ConditionVariable changed;
    std::size_t left GUARDED_BY(mutex) = 0;
  };
  const auto ends = std::make_shared<Ends>();
  {
    MutexLock lock(ends->mutex);
    ends->left = events.size();
  }
  for (const cl_event event : events) {
    completions.notify_apart(event, [ends](cl_int) {
      MutexLock lock(ends->mutex);
      --ends->left;
      ends->changed.notify_all();
    });
  }
  MutexLock lock(ends->mutex);
  while (ends->left != 0) ends->changed.wait(ends->mutex);
}

// Waits for all that the driver has of a queue. The final clFinish() is cheap then; without it the driver
// need not have noticed the end of every command.
void await_all(const CompletionNotifier& completions, cl_command_queue queue) {
  Native<cl_event> barrier;  // on some drivers a marker also waits for other queues
  if (clEnqueueBarrierWithWaitList(queue, 0, nullptr, barrier.out()) == CL_SUCCESS) {
    clFlush(queue);
    await(completions, {barrier.list(), 1});
  }
  clFinish(queue);
}

}  // namespace

void PrintfExecution::start(Issue& issue, std::function<cl_int(Issue&)> command) {
  issue.enqueued = false;
  issue.queue.count_native_command({});
  worker_.post([this, queue = Ref<Queue>(&issue.queue), event = Ref<Event>(issue.event), hold = issue.hold,
                waits = std::make_shared<NativeEvents>(issue.waits), command = std::move(command)] {
    Issue later{*queue, event.get(), waits->get(), hold};
    // Earlier commands must end before this one makes other sessions wait for its turn.
    if (queue->in_order()) await_all(strand_.completions(), queue->native());
    await(strand_.completions(), waits->get());
    cl_int error = CL_SUCCESS;
    const LogScope scope(strand_.id());
    {
      OutputSender sender(outbox_, patience_, output_);
      patience_.begin(outbox_);
      output_.run([&] { error = run(later, command); }, [&sender](std::string_view text) { sender.take(text); });
    }
    finish(later, error);
  });
}

// Runs the command until it has ended and the driver has written what it printed.
cl_int PrintfExecution::run(Issue& issue, const std::function<cl_int(Issue&)>& command) {
  cl_int error = CL_SUCCESS;
  const bool goes_on = strand_.with_lock([&]() REQUIRES(session_lock) {
    issue.due = true;
    error = issue.end_by_barrier([&] { return command(issue); });
    DeviceTurn& turn = issue.queue.turn();
    if (error == CL_SUCCESS && issue.native && turn.counts()) turn.add(1, issue.native.get());
  });
  if (!goes_on) return CL_SUCCESS;
  clFlush(issue.queue.native());
  if (issue.native) await(strand_.completions(), {issue.native.list(), 1});
  clFinish(issue.queue.native());
  return error;
}

// Everything that the command printed has been sent, so its end may be reported.
void PrintfExecution::finish(Issue& issue, cl_int error) {
  strand_.with_lock([&]() REQUIRES(session_lock) {
    if (issue.first) issue.event->first = std::move(issue.first);
    if (error != CL_SUCCESS) {
      issuer_.fail(issue.queue, issue.event, error);
    } else if (issue.native) {
      issuer_.accepted(issue.queue, issue.event, std::move(issue.native));
    }
    issuer_.finish_hold(issue.hold);
  });
}

}  // namespace remotecl::server
