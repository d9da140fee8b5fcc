// The life of a command buffer, from the end of its recording to its replays.
#include "runtime/client/commands/command_buffer.h"

#include <algorithm>

#include "runtime/client/commands/command_plan.h"
#include "runtime/client/session/request.h"

namespace remotecl {

CommandBuffer::CommandBuffer(Ref<CommandQueue> queue, cl_command_buffer_flags_khr flags,
                             std::vector<cl_command_buffer_properties_khr> properties)
    : queue_(std::move(queue)),
      simultaneous_((flags & CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR) != 0),
      properties_(std::move(properties)) {}

CommandBuffer::~CommandBuffer() {
  if (recording_ended_) queue_->session().send(ReleaseCommandBuffer{id_});
}

bool CommandBuffer::has_points(SyncPoints points) {
  const MutexLock lock(mutex_);
  return std::all_of(points.begin(), points.end(),
                     [last = records_.size()](cl_sync_point_khr point) { return point != 0 && point <= last; });
}

bool CommandBuffer::is_recording() {
  const MutexLock lock(mutex_);
  return !recording_ended_;
}

cl_int CommandBuffer::end_recording() {
  const MutexLock memory_lock(queue_->context().memory_mutex());
  const MutexLock lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  std::vector<RecordedCommand> commands;
  for (const Record& record : records_) {
    commands.push_back({record.code, recording_.bytes().subspan(record.offset, record.size)});
  }
  Session& session = queue_->session();
  for (const auto& [buffer, reference] : buffers_) buffer->create_on(session);
  for (const auto& [kernel, reference] : kernels_) {
    const MutexLock kernel_lock(kernel->mutex());
    kernel->program().create_on(session);
    kernel->create_on(session);
    kernel->send_svm_pointers(session);
  }
  for (const auto& [sampler, reference] : samplers_) sampler->create_on(session);
  session.send(CreateCommandBuffer{id_, queue_->device().index(), std::span<const RecordedCommand>(commands)});
  recording_ended_ = true;
  recording_ = ByteBuffer();
  records_ = {};
  return CL_SUCCESS;
}

struct CommandBuffer::ReplayPlan : Plan {
  static constexpr cl_command_type type = CL_COMMAND_COMMAND_BUFFER_KHR;

  CommandBuffer& buffer;
  const std::map<MemoryObject*, Access>& accesses;

  // The memory mutex keeps other replays out from here until sent().
  cl_int prepare(PendingCommand&) const REQUIRES(kMemoryMutex) {
    const MutexLock lock(buffer.mutex_);
    return !buffer.simultaneous_ && buffer.may_be_pending() ? CL_INVALID_OPERATION : CL_SUCCESS;
  }
  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    for (const auto& [root, access] : accesses) {
      for (const ByteRange& range : access.reads.ranges()) uses.reads(*root, range);
      for (const ByteRange& range : access.writes.ranges()) uses.writes(*root, range);
    }
  }
  EnqueueCommandBuffer message() const { return {0, 0, buffer.id_, {}}; }
  void sent(PendingCommand& command) const REQUIRES(kMemoryMutex) {
    const MutexLock lock(buffer.mutex_);
    buffer.remember({Ref<CommandQueue>(&command.queue()), command.sequence(), Ref<Event>(command.event())});
  }
  bool is_awaited() const { return true; }
};

cl_int CommandBuffer::enqueue(CommandQueue& queue, WaitList wait, Event** event) {
  if (!simultaneous_ && is_pending()) return CL_INVALID_OPERATION;
  MutexLock lock(mutex_);
  if (!recording_ended_) return CL_INVALID_OPERATION;
  const ReplayPlan plan{{}, *this, accesses_};  // which change no more
  lock.unlock();
  if (const cl_int error = submit(queue, plan, wait, event); error != CL_SUCCESS) return error;
  queue.session().submit();  // may block
  return CL_SUCCESS;
}

void CommandBuffer::remember(Replay replay) {
  const bool covers_last = newest_.queue.get() == replay.queue.get() && replay.queue->in_order();
  if (simultaneous_ && newest_.queue && !covers_last) others_may_be_pending_ = true;
  newest_ = std::move(replay);
  ++replays_;
}

bool CommandBuffer::may_be_pending() const {
  if (!newest_.queue) return false;
  const bool newest_ended = (newest_.event && newest_.event->ended()) ||
                            newest_.queue->ended_sequence() >= newest_.sequence || newest_.queue->session().lost();
  return !newest_ended || others_may_be_pending_;
}

bool CommandBuffer::is_pending() {
  std::uint64_t replays = 0;
  {
    const MutexLock lock(mutex_);
    if (!may_be_pending()) return false;
    replays = replays_;
  }
  Session& session = queue_->session();
  const auto send = [&](Token token) { session.send(QueryCommandBuffer{id_, token}); };
  const auto take = [](const CommandBufferState& state) { return state.is_pending != 0; };
  if (ask<CommandBufferState>(session, send, take).value_or(false)) return true;
  const MutexLock lock(mutex_);
  if (replays_ == replays) {
    newest_ = {};
    others_may_be_pending_ = false;
  }
  return false;
}

cl_command_buffer_state_khr CommandBuffer::state() {
  if (is_recording()) return CL_COMMAND_BUFFER_STATE_RECORDING_KHR;
  return is_pending() ? CL_COMMAND_BUFFER_STATE_PENDING_KHR : CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR;
}

}  // namespace remotecl
