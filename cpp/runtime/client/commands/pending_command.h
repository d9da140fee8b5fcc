#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/commands/transfer_planner.h"
#include "runtime/client/trace/tracer.h"

namespace remotecl {

// One command from the moment its needs are known until it has been sent. Holds the context's memory mutex
// meanwhile, so that transfers and commands reach every server in one order. One thread.
class REMOTECL_TSA(scoped_lockable) PendingCommand {
 public:
  PendingCommand(CommandQueue& queue, cl_command_type type, WaitList wait, bool wants_event) ACQUIRE(kMemoryMutex);
  ~PendingCommand() RELEASE();

  // CL_SUCCESS, or the reason why the command cannot be sent (server lost, data lost).
  cl_int error() const { return planner_.error(); }
  // See TransferPlanner::missing_link() and with_links().
  const std::optional<ServerPair>& missing_link() const { return planner_.missing_link(); }
  // The command reads these bytes. Brings those that the device lacks.
  void reads(MemoryObject& buffer, ByteRange range) REQUIRES(kMemoryMutex) {
    if (buffer.network_device() != nullptr) [[unlikely]]
      return planner_.refuse(CL_INVALID_OPERATION);
    planner_.reads(buffer, range);
  }
  // A kernel has this network as an argument.
  void has_network(MemoryObject& network) {
    if (network.network_device() != &queue_.device()) planner_.refuse(CL_INVALID_MEM_OBJECT);
  }
  // The command overwrites all of these bytes, or has also named them in reads().
  void writes(MemoryObject& buffer, ByteRange range) REQUIRES(kMemoryMutex);
  void waits_for(Event& event) { planner_.waits_for(event); }
  // The command reads or overwrites memory of this process: it waits for bytes on their way there. Returns
  // false if there are none.
  bool touches_host(const std::byte* memory, std::uint64_t size);
  // The command overwrites the host's copy, so it waits for the transfers that still read it.
  void waits_for_host_readers(BufferStorage& storage) REQUIRES(kMemoryMutex);
  // The command waits for all earlier commands of its queue, whatever order they run in; or it is a barrier,
  // which later commands wait for.
  void waits_for_all() REQUIRES(kMemoryMutex);
  void is_barrier(bool for_all);
  // See TransferPlanner::limit_to_content().
  ObjectId limit_to_content(MemoryObject& buffer, ByteRange& range) REQUIRES(kMemoryMutex) {
    return planner_.limit_to_content(buffer, range);
  }

  // For a trace: the command moves these bytes; null stands for this process.
  void moves(std::uint64_t size, Device* from, Device* to) {
    if (record_ != nullptr) record_->moves(size, from, to);
  }
  // Names the kernel for traces and the event graph.
  void runs(const std::string& kernel) {
    if (event_) event_->description().kernel_name = kernel;
    if (record_ != nullptr) record_->kernel = kernel;
  }
  // Has its times reported, although no trace may run: see Tracer::sample_for(). Call it before anything else.
  void sample(std::uint64_t number, cl_command_type type, WaitList wait) {
    if (record_ == nullptr) make_record(type, wait);
    record_->sample = number;
  }
  // The scheduler has chosen the device: the server counts that.
  void set_placed() { flags_ = kPlacedMessage; }
  // The record of a traced command until it is sent; else null, and 0.
  TraceRecord* record() const { return record_.get(); }
  std::uint64_t record_id() const { return record_ != nullptr ? record_->id : 0; }
  // Commits the record for a message sent by other means; the result is for Tracer::send().
  std::uint64_t commit_record();
  // Sends the command's own message. Call it after everything that the command reads and writes has been
  // named.
  template <class Message>
  void send(const Message& message) REQUIRES(kMemoryMutex) {
    if (record_ != nullptr) {
      send_traced(message);
    } else {
      session().append(message, flags_);
    }
  }

  CommandQueue& queue() const { return queue_; }
  Session& session() const { return queue_.session(); }
  Event* event() const { return event_.get(); }
  EventId event_id() const { return event_ ? event_->id() : own_event_ ? own_event_->id() : kept_event_; }
  // If the command follows a large transfer, the next one that replaces its bytes can wait for exactly this command,
  // also if the application holds no event of it. Call it, and then wait_list(), after everything that the command
  // reads and writes has been named.
  void keep_event() {
    if (planner_.follows_large_transfer()) kept_event_ = event_id() != 0 ? event_id() : next_id();
  }
  Array<EventId> wait_list() { return planner_.wait_list(); }
  std::uint64_t sequence() const { return sequence_; }  // the command's position in the queue
  // The transfers that have to end for the application before the command does. Of a queue out of order; one in order
  // waits for all of its own.
  std::vector<PendingReads::Ticket> awaited_transfers() const { return queue_.pending_reads().awaited(awaited_); }
  // The command has been sent: records its writes and unlocks. Returns the event's reference. `is_awaited`:
  // the caller waits next, which submits the command, or submits it itself.
  Ref<Event> sent(bool is_awaited = false) RELEASE() {
    return sent_and([] {}, is_awaited);
  }
  // The same, with one more thing to record under the lock.
  template <class F>
  Ref<Event> sent_and(F&& record, bool is_awaited = false) RELEASE() {
    record_writes();
    record();
    if (event_) queue_.has_event(sequence_, event_->id());
    if (!gates_.empty() && queue_.in_order() && event_id() != 0) [[unlikely]]
      queue_.has_gated(event_id());
    if (kept_event_ != 0) [[unlikely]]
      unneeded_event_ = queue_.keep_event(sequence_, kept_event_, event_ ? event_.get() : own_event_.get());
    if (!returned_writes_.empty()) [[unlikely]]
      queue_.context().returned_writes().ordered(queue_, returned_writes_);
    lock_.unlock();
    if (!is_awaited) session().submit();
    return std::move(event_);
  }

 private:
  struct Write {
    MemoryObject* buffer;
    ByteRange range;
    bool has_read;
    Ref<EventDoubt> doubt;
  };
  // The event by which it becomes known whether the command has begun, whether or not the application wants one.
  const Ref<Event>& deciding_event();
  Ref<EventDoubt> doubt_of(EventDoubt::Kind kind);
  template <class Message>
  [[gnu::noinline, gnu::cold]] void send_traced(const Message& message) {
    Tracer::instance().send(session(), take_record(), message, flags_);
  }
  TraceRecordOwner take_record();
  [[gnu::cold]] void make_record(cl_command_type type, WaitList wait);
  void record_writes() REQUIRES(kMemoryMutex);
  void await_bytes(Event& event);

  CommandQueue& queue_;
  std::unique_lock<Mutex> lock_;
  TransferPlanner planner_;
  std::uint64_t sequence_ = 0;
  std::uint16_t flags_ = 0;  // of its message
  Ref<Event> event_;
  Ref<Event> own_event_;  // see deciding_event()
  EventId kept_event_ = 0;
  Event::Gates gates_;  // the user events without which it does not begin
  Ref<Event> gated_;    // of a command before it in order that has such; may be null
  Ref<Event> unneeded_event_;
  TraceRecordOwner record_;
  std::vector<PendingReads::Ticket> awaited_;  // reads in the wait list whose bytes have not arrived
  std::vector<Write> writes_;
  std::vector<Ref<Event>> returned_writes_;  // of other queues of the device, which the command waits for
};

// Calls attempt(missing) until it leaves `missing` empty, and makes the link that was missing meanwhile, without locks.
// Returns what the last call returned. Each link is made or found to be impossible once, so that the calls end.
template <class F>
auto with_links(F&& attempt) {
  for (;;) {
    std::optional<ServerPair> missing;
    auto result = attempt(missing);
    if (!missing) [[likely]]
      return result;
    missing->first->group().links.connected(*missing->first, *missing->second);
  }
}

}  // namespace remotecl
