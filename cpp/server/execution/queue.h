#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"
#include "server/completion/native.h"
#include "server/driver/device.h"
#include "server/driver/device_turns.h"
#include "server/driver/queue_progress.h"
#include "server/execution/write_arena.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// A client's queue: a native queue, and the state of the commands that are held back from it. Owned by the
// session's table and by its commands in flight.
class Queue final : public RefCounted {
 public:
  // `turn`: the session's turn on the device; null: another session uses the device exclusively, and every
  // command fails.
  Queue(ObjectId id, Device& device, cl_command_queue_properties properties, Ref<BlockPool> blocks,
        Ref<DeviceTurn> turn);
  ~Queue() override;

  ObjectId id() const { return id_; }
  Device& device() const { return device_; }
  bool in_order() const { return in_order_; }
  bool profiling() const { return profiling_; }
  // Null if the driver refused it, for which error() has the reason.
  cl_command_queue native() const { return native_; }
  cl_int error() const { return error_; }

  DeviceTurn& turn() const { return *turn_; }

  // Counts a native command, so that an empty queue is known without asking the driver, and notes its event in the same
  // step: when the event that mark() returns ends, all counted commands are taken to have ended. `event` may be null if
  // the queue does not want events, or if a hold keeps later commands back until the command has ended.
  void count_native_command(const Native<cl_event>& event) REQUIRES(session_lock) {
    progress_->issue();
    note(event);
  }
  std::uint64_t native_commands() const { return progress_->issued(); }
  bool native_idle() const { return progress_->ended() == progress_->issued(); }
  // The same, but if necessary and possible also asks the driver about the newest command.
  bool has_become_idle() REQUIRES(session_lock);
  // For callbacks, which must not hold the last reference to a queue.
  const Ref<QueueProgress>& progress() const { return progress_; }

  // Returns true if every native command must get an event for note().
  bool wants_events() const { return wants_events_; }
  // `event` belongs to the newest native command; null changes nothing.
  void note(const Native<cl_event>& event) REQUIRES(session_lock) {
    if (wants_events_ && event) newest_ = event.copy();
  }
  // Returns an event that ends when all native commands so far have ended.
  cl_int mark(Native<cl_event>& marker) REQUIRES(session_lock);
  // Returns true if the end of a kernel is known in time only from the event of a barrier behind it, because the device
  // has other queues. With profiling, commands keep their own events, which have the times.
  bool ends_by_barriers() const { return may_end_by_barriers_ && device_.load().has_several_queues(); }
  // Returns true if mark() takes long while many commands are in flight.
  bool marks_slowly() const { return !in_order_ && device_.traits().quirks.waits_for_all_slowly; }

  // Copies the bytes of a small write to memory that stays valid as long as the driver needs it.
  const std::byte* stage(Bytes data) REQUIRES(session_lock);

  // Events of the graph that later commands of the queue have to wait for. In an in-order queue `tail` is the
  // last held command. In an out-of-order queue `tail` is the last held barrier, and `held` has everything
  // held, for commands that wait for all.
  EventId tail GUARDED_BY(session_lock) = 0;
  std::vector<EventId> held GUARDED_BY(session_lock);
  std::size_t sweep_at GUARDED_BY(session_lock) = 64;  // the size of `held` at which ended events are removed
  // Bytes that commands of the driver use and DriverBacklog has not counted yet.
  std::uint64_t uncounted GUARDED_BY(session_lock) = 0;
  bool touched GUARDED_BY(session_lock) = false;  // has got commands since its last flush

 private:
  cl_command_queue_properties properties() const {
    return (in_order_ ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) | (profiling_ ? CL_QUEUE_PROFILING_ENABLE : 0);
  }

  const ObjectId id_;
  Device& device_;
  const bool in_order_;
  const bool profiling_;
  cl_command_queue native_ = nullptr;
  cl_int error_ = CL_SUCCESS;
  const Ref<DeviceTurn> turn_;
  const Ref<QueueProgress> progress_;
  WriteArena arena_ GUARDED_BY(session_lock);
  // For "wait for all", some drivers take a time that grows with the square of the queue's length. In an
  // in-order queue the event of the last command does the same.
  const bool wants_events_;
  Native<cl_event> newest_ GUARDED_BY(session_lock);
  const bool may_end_by_barriers_;
};

}  // namespace remotecl::server
