#include "server/execution/command_buffer.h"

#include <algorithm>
#include <utility>

#include "server/completion/event_status.h"

namespace remotecl::server {

CommandBuffer::CommandBuffer(Device& device, std::vector<RecordedStep> steps, RecordedOrder order, bool prints,
                             cl_int error, HeldMemory held)
    : device_(device),
      steps_(std::move(steps)),
      order_(std::move(order)),
      prints_(prints),
      error_(error),
      held_memory_(std::move(held)) {
  for (std::uint32_t index = 0; index < steps_.size(); ++index) {
    if (!std::holds_alternative<RecordedPoint>(steps_[index])) steps_in_order_.push_back(index);
  }
}

cl_int CommandBuffer::replay(Issue& issue) {
  if (&issue.queue.device() != &device_) return CL_INCOMPATIBLE_COMMAND_QUEUE_KHR;
  if (error_ != CL_SUCCESS) return error_;
  const cl_int error = issue.queue.in_order() ? replay_in_order(issue) : replay_by_events(issue);
  if (error == CL_SUCCESS) {
    remember(issue.queue, issue.native.copy());
  } else {
    clFinish(issue.queue.native());  // so that nothing runs after the replay has ended with its error
  }
  return error;
}

cl_int CommandBuffer::enqueue(std::uint32_t index, cl_command_queue queue, const EventArguments& events) const {
  return std::visit([&](const auto& step) REQUIRES(session_lock) { return step.enqueue(queue, events); },
                    steps_[index]);
}

cl_int CommandBuffer::replay_in_order(Issue& issue) const {
  const cl_command_queue queue = issue.queue.native();
  if (steps_in_order_.empty()) {
    return clEnqueueBarrierWithWaitList(queue, issue.wait_count(), issue.wait_list(), issue.native.out());
  }
  const bool wants_first = issue.event != nullptr && issue.queue.profiling() && steps_in_order_.size() > 1;
  EventArguments events{issue.wait_count(), issue.wait_list(), wants_first ? issue.first.out() : nullptr};
  issue.needs_event = true;
  return issue.end_by_barrier([&]() REQUIRES(session_lock) {
    for (const std::uint32_t index : steps_in_order_) {
      if (index == steps_in_order_.back()) events.event = issue.out();
      const cl_int error = enqueue(index, queue, events);
      if (error != CL_SUCCESS) return error;
      events = {0, nullptr, nullptr};
    }
    return CL_SUCCESS;
  });
}

cl_int CommandBuffer::replay_by_events(Issue& issue) const {
  const cl_command_queue queue = issue.queue.native();
  std::vector<Native<cl_event>> made(steps_.size());
  std::vector<cl_event> waits;
  cl_int error = CL_SUCCESS;
  const auto wait_for = [&](const std::vector<std::uint32_t>& indices) -> EventArguments {
    if (indices.empty()) return {issue.wait_count(), issue.wait_list(), nullptr};
    waits.clear();
    for (const std::uint32_t index : indices) waits.push_back(made[index].get());
    return {static_cast<cl_uint>(waits.size()), waits.data(), nullptr};
  };
  for (std::uint32_t index = 0; index < steps_.size() && error == CL_SUCCESS; ++index) {
    const RecordedOrder::Node& order = order_.nodes()[index];
    if (order.is_idle) continue;
    EventArguments events = wait_for(order.after);
    events.event = made[index].out();
    error = enqueue(index, queue, events);
  }
  if (error == CL_SUCCESS) {
    if (issue.event != nullptr && issue.queue.profiling() && !steps_in_order_.empty()) {
      issue.first = made[steps_in_order_.front()].copy();
    }
    if (order_.last().size() == 1) {
      issue.native = std::move(made[order_.last().front()]);
    } else {
      EventArguments events = wait_for(order_.last());
      events.event = issue.native.out();
      error = RecordedPoint{}.enqueue(queue, events);
    }
  }
  return error;
}

void CommandBuffer::remember(const Queue& queue, Native<cl_event> end) {
  if (queue.in_order()) {
    for (Replay& replay : replays_) {
      if (replay.queue != queue.id()) continue;
      replay.end = std::move(end);
      return;
    }
  }
  if (replays_.size() >= sweep_at_) {
    forget_ended();
    sweep_at_ = std::max<std::size_t>(16, 2 * replays_.size());
  }
  replays_.push_back({queue.id(), std::move(end)});
}

void CommandBuffer::forget_ended() {
  std::erase_if(replays_, [](const Replay& replay) { return execution_status(replay.end.get()) <= CL_COMPLETE; });
}

bool CommandBuffer::is_pending() {
  forget_ended();
  return held_ != 0 || !replays_.empty();
}

}  // namespace remotecl::server
