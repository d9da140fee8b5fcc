#pragma once

#include <mutex>
#include <vector>

#include "runtime/client/commands.h"

namespace remotecl {

// One command from the moment its needs are known until it has been sent. Holds the context's memory_mutex meanwhile,
// so that what it moves and what it does reach every server in one order. One thread.
class PendingCommand {
 public:
  PendingCommand(CommandQueue& queue, cl_command_type type, WaitList wait, bool wants_event);

  // CL_SUCCESS, or why the command cannot be sent (server lost, data lost).
  cl_int error() const { return error_; }
  // The command reads these bytes: brings what the device lacks.
  void reads(MemoryObject& buffer, ByteRange range);
  // The command overwrites all of these bytes, or has named them in reads() too.
  void writes(MemoryObject& buffer, ByteRange range);
  // As reads(), but the bytes need not be there; only orders the command behind transfers on their way to them.
  void touches(MemoryObject& buffer);
  void waits_for(Event& event);

  CommandQueue& queue() const { return queue_; }
  Session& session() const { return queue_.session(); }
  Event* event() const { return event_.get(); }
  EventId event_id() const { return event_ ? event_->id() : 0; }
  Array<EventId> wait_list() const { return std::span<const EventId>(wait_ids_); }
  // The command has been sent: records what it writes, lets other commands in. Returns the event's reference.
  Ref<Event> sent() {
    return sent_and([] {});
  }
  // The same with one more thing to record while no other command is let in.
  template <class F>
  Ref<Event> sent_and(F&& record) {
    record_writes();
    record();
    lock_.unlock();
    return std::move(event_);
  }

 private:
  struct Write {
    MemoryObject* buffer;
    ByteRange range;
  };
  void record_writes();
  using Missing = ResidencyDirectory::Transfer;
  void fetch(MemoryObject& buffer, ByteRange range);
  void upload(MemoryObject& root, const Missing& missing);
  void relay(MemoryObject& root, const Missing& missing, Location from);
  void push(MemoryObject& root, const Missing& missing, Location from);
  std::vector<EventId> after_writers(MemoryObject& root, Location at);
  void arriving(MemoryObject& root, const Missing& missing, const Ref<Event>& arrival);
  Location choose_source(std::uint64_t holders) const;
  EventId mark(CommandQueue& queue);
  std::vector<EventId> after_users(MemoryObject& root);

  CommandQueue& queue_;
  const Location location_;
  std::unique_lock<std::mutex> lock_;
  cl_int error_ = CL_SUCCESS;
  Ref<Event> event_;
  std::vector<EventId> wait_ids_;
  std::vector<Write> writes_;
  std::vector<Ref<Event>> markers_;  // held until the commands that name them have been sent
};

// Sends a write of `size` bytes at `memory`, which stay valid as long as `keep_alive`: inside the message when small,
// else as a transfer that the server pulls in its own time. Requires the context's memory_mutex.
void send_write(CommandQueue& queue, EventId event, const MemoryObject& object, std::uint64_t offset, std::byte* memory,
                std::uint64_t size, Array<EventId> wait_list, std::shared_ptr<void> keep_alive);

}  // namespace remotecl
