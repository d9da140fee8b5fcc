// Commands that the client executes itself, in the order of a queue that lives on the server.
#include <cstring>
#include <span>

#include "runtime/client/commands/command_plan.h"
#include "runtime/client/support/callback_thread.h"
#include "runtime/client/support/inbound_host_ranges.h"

namespace remotecl {
namespace {

struct HostWork {
  Ref<Event> event;
  Ref<Event> over;  // ends in any case
  Ref<CommandQueue> queue;
  std::function<void()> run;
  InboundHostRanges::Ticket written;  // for memory whose bytes later commands may send; may be null
};

void run_host_work(Event& turn, HostWork& work) {
  const cl_int status = turn.status();
  std::array<std::uint64_t, 4> times{};
  const bool profiled = work.queue->profiling() && turn.profile(times);
  if (status == CL_COMPLETE) work.run();
  if (work.written) InboundHostRanges::instance().end(work.written);
  if (status != CL_COMPLETE) {
    work.event->refuse(status);
  } else {  // the times are in the device's clock, as from the server
    work.event->complete(status, profiled ? turn.device_times() : nullptr);
  }
  work.queue->host_work_ended();
  work.over->complete(CL_COMPLETE);  // after which CommandQueue::finish() may return
}

struct HostWorkPlan : Plan {
  static constexpr bool kNeedsEvent = true;
  static constexpr cl_command_type type = CL_COMMAND_MARKER;

  cl_command_type work_type;
  std::function<void()> run;
  std::span<std::byte> written{};  // see HostWork; may be empty
  std::shared_ptr<HostWork> work = std::make_shared<HostWork>();

  void uses(auto&) const {}
  cl_int send(PendingCommand& command) REQUIRES(kMemoryMutex) {
    if (!can_do_host_work()) return CL_OUT_OF_RESOURCES;
    CommandQueue& queue = command.queue();
    *work = {make_ref<Event>(queue, work_type, false), nullptr, Ref<CommandQueue>(&queue), std::move(run), nullptr};
    if (!written.empty()) work->written = InboundHostRanges::instance().begin(written.data(), written.size());
    if (TraceRecord* record = command.record()) {
      record->type = work_type;
      record->event = work->event->id();  // the event that the application knows
    }
    send_place_marker(command);
    // Later commands of the queue, or those that wait for all before them, wait for this process.
    work->over = make_ref<Event>(Ref<Context>(&queue.context()));
    work->over->announce_to(command.session(), false);
    const EventId over = work->over->id();
    command.session().send(EnqueueMarker{queue.id(), 0, 0, 0, {&over, 1}});
    queue.host_work_begins();
    return CL_SUCCESS;
  }
  cl_int outcome(CommandQueue&, Ref<Event>& own, Event**) {
    const Ref<Event> turn = std::exchange(own, work->event);
    const auto go = [turn, pending = work] { post_host_work([turn, pending] { run_host_work(*turn, *pending); }); };
    turn->at_end(go) ? turn->session()->submit_now() : go();
    return CL_SUCCESS;
  }
};

}  // namespace

cl_int enqueue_host_work(CommandQueue& queue, cl_command_type type, WaitList wait, std::function<void()> work,
                         Event** event) {
  return submit(queue, HostWorkPlan{{}, type, std::move(work)}, wait, event);
}

cl_int enqueue_host_copy(CommandQueue& queue, cl_command_type type, WaitList wait, void* to, const void* from,
                         std::size_t size, Event** event) {
  const auto run = [=] { std::memcpy(to, from, size); };
  return submit(queue, HostWorkPlan{{}, type, run, {static_cast<std::byte*>(to), size}}, wait, event);
}

}  // namespace remotecl
