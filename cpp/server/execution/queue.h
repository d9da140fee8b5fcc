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

namespace remotecl::server {

// A client's queue: a native queue, and what of it is held back from there. Owned by the session's table and
// by its commands in flight. Needs the session's lock, but for what says otherwise.
class Queue final : public RefCounted {
 public:
  // `turn`: the session's on the device; null: another session has the device alone, and every command fails.
  Queue(ObjectId id, Device& device, cl_command_queue_properties properties, Ref<BlockPool> blocks,
        Ref<DeviceTurn> turn);
  ~Queue() override;

  ObjectId id() const { return id_; }
  Device& device() const { return device_; }
  bool in_order() const { return in_order_; }
  bool profiling() const { return profiling_; }
  // Null when the driver refused it, and error() says why. Any thread.
  cl_command_queue native() const { return native_; }
  cl_int error() const { return error_; }

  DeviceTurn& turn() const { return *turn_; }

  // Native commands are counted, so that an empty queue is known without asking the driver.
  void count_native_command() { progress_->issue(); }
  std::uint64_t native_commands() const { return progress_->issued(); }
  bool native_idle() const { return progress_->ended() == progress_->issued(); }
  // The same, and where that is known, asks the driver for the newest command.
  bool has_become_idle();
  // For callbacks, which must not be the last to hold a queue.
  const Ref<QueueProgress>& progress() const { return progress_; }

  // Whether every native command has to be given an event, which note() then gets.
  bool wants_events() const { return wants_events_; }
  // `event` is that of the newest native command.
  void note(const Native<cl_event>& event) {
    if (wants_events_) newest_ = event.copy();
  }
  // Gives an event that ends when all native commands so far have ended.
  cl_int mark(Native<cl_event>& marker);
  // Whether mark() takes long when many commands are in flight.
  bool marks_slowly() const { return !in_order_ && device_.quirks().waits_for_all_slowly; }

  // Copies what a small write writes to where the driver finds it as long as it needs it.
  const std::byte* stage(Bytes data);

  // Events of the graph that later commands of the queue have to wait for. In order: the last held command.
  // Out of order: the last held barrier, and everything held for those commands that wait for all.
  EventId tail = 0;
  std::vector<EventId> held;
  std::size_t sweep_at = 64;    // size of `held` at which ended ones are removed
  std::uint64_t uncounted = 0;  // commands that the driver was given and DriverBacklog does not know of
  bool touched = false;         // has commands since its last flush

 private:
  const ObjectId id_;
  Device& device_;
  const bool in_order_;
  const bool profiling_;
  cl_command_queue native_ = nullptr;
  cl_int error_ = CL_SUCCESS;
  const Ref<QueueProgress> progress_ = make_ref<QueueProgress>();
  const Ref<DeviceTurn> turn_;
  WriteArena arena_;
  // Some drivers take a time that grows with the square of the queue's length for "wait for all". In order,
  // the last command's event does the same.
  const bool wants_events_;
  Native<cl_event> newest_;
};

}  // namespace remotecl::server
