// Commands that the client carries out itself, in the order of a queue that lives on the server.
#include "runtime/client/commands/pending_command.h"
#include "runtime/client/support/callback_thread.h"

namespace remotecl {
namespace {

struct HostWork {
  Ref<Event> event;
  Ref<Event> over;  // ends in any case; null when nothing on the server waits for it
  Ref<CommandQueue> queue;
  std::function<void()> run;
};

void run_host_work(Event& turn, HostWork& work) {
  const cl_int status = turn.status();
  std::array<std::uint64_t, 4> times{};
  const bool profiled = work.queue->profiling() && turn.profile(times);
  if (status == CL_COMPLETE) work.run();
  work.event->complete(status, profiled ? &times : nullptr);
  if (work.over) work.over->complete(CL_COMPLETE);
  work.queue->host_work_ended();
}

}  // namespace

cl_int enqueue_host_work(CommandQueue& queue, cl_command_type type, WaitList wait, std::function<void()> work,
                         Event** event) {
  PendingCommand command(queue, CL_COMMAND_MARKER, wait, true);
  if (command.error() != CL_SUCCESS) return command.error();
  const std::uint32_t for_all = queue.in_order() ? 1 : 0;
  const auto pending = std::make_shared<HostWork>();
  pending->event = make_ref<Event>(queue, type, false);
  if (TraceRecord* record = command.record()) {
    record->type = type;
    record->event = pending->event->id();  // the one that the application knows
  }
  command.send(EnqueueMarker{queue.id(), command.event_id(), 0, for_all, command.wait_list()});
  pending->queue = Ref<CommandQueue>(&queue);
  pending->run = std::move(work);
  if (queue.in_order()) {
    // What follows in the queue waits for this process.
    pending->over = make_ref<Event>(Ref<Context>(&queue.context()));
    pending->over->announce_to(command.session());
    const EventId over = pending->over->id();
    command.session().send(EnqueueMarker{queue.id(), 0, 0, 0, {&over, 1}});
  }
  Ref<Event> own = pending->event;
  queue.host_work_begins();
  const Ref<Event> turn = command.sent();
  const auto go = [turn, pending] { post_host_work([turn, pending] { run_host_work(*turn, *pending); }); };
  if (turn->at_end(go)) {
    turn->session()->submit_now();
  } else {
    go();
  }
  if (event != nullptr) *event = own.detach();
  return CL_SUCCESS;
}

}  // namespace remotecl
