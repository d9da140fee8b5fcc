#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/commands/transfer_planner.h"
#include "runtime/client/trace/tracer.h"

namespace remotecl {

// One command from the moment its needs are known until it has been sent. Holds the context's memory_mutex meanwhile,
// so that what it moves and what it does reach every server in one order. One thread.
class PendingCommand {
 public:
  PendingCommand(CommandQueue& queue, cl_command_type type, WaitList wait, bool wants_event);
  ~PendingCommand();

  // CL_SUCCESS, or why the command cannot be sent (server lost, data lost).
  cl_int error() const { return planner_.error(); }
  // The command reads these bytes: brings what the device lacks.
  void reads(MemoryObject& buffer, ByteRange range) { planner_.reads(buffer, range); }
  // The command overwrites all of these bytes, or has named them in reads() too.
  void writes(MemoryObject& buffer, ByteRange range);
  void waits_for(Event& event) { planner_.waits_for(event); }
  // The command reads or overwrites memory of this process: it waits for bytes on their way there, and then `then`
  // runs. False when there are none, and nothing runs.
  bool touches_host(const std::byte* memory, std::uint64_t size, std::function<void()> then = {});
  // The command overwrites the host's copy: it comes after the transfers that still read it.
  void waits_for_host_readers(BufferStorage& storage);
  // It comes after all earlier commands of its queue, in whatever order they run; or, as a barrier, after what it waits
  // for, and later ones come after it.
  void waits_for_all();
  void is_barrier(bool for_all);
  // TransferPlanner::limit_to_content.
  ObjectId limit_to_content(MemoryObject& buffer, ByteRange& range) { return planner_.limit_to_content(buffer, range); }

  // For a trace: these bytes are what the command moves; null stands for this process.
  void moves(std::uint64_t size, Device* from, Device* to) {
    if (record_ != nullptr) record_->moves(size, from, to);
  }
  // For those who look inside: the kernel that it runs.
  void runs(const std::string& kernel) {
    if (event_) event_->set_kernel_name(kernel);
    if (record_ != nullptr) record_->kernel = kernel;
  }
  // The command's record while it is being traced and has not been sent; else null, and 0.
  TraceRecord* record() const { return record_.get(); }
  std::uint64_t record_id() const { return record_ != nullptr ? record_->id : 0; }
  // As Tracer::send() takes it, for those who send otherwise.
  std::uint64_t commit_record();
  // Sends the command's own message, after everything that it reads and writes has been named.
  template <class Message>
  void send(const Message& message) {
    if (record_ != nullptr) {
      send_traced(message);
    } else {
      session().append(message);
    }
  }

  CommandQueue& queue() const { return queue_; }
  Session& session() const { return queue_.session(); }
  Event* event() const { return event_.get(); }
  EventId event_id() const { return event_ ? event_->id() : 0; }
  // After everything that it reads and writes has been named.
  Array<EventId> wait_list() { return planner_.wait_list(); }
  std::uint64_t sequence() const { return sequence_; }  // its place in the queue
  // The command has been sent: records what it writes, lets other commands in. Returns the event's reference.
  // `is_awaited`: the caller's next step is a wait, which submits the command, or submits it itself.
  Ref<Event> sent(bool is_awaited = false) {
    return sent_and([] {}, is_awaited);
  }
  // The same with one more thing to record while no other command is let in.
  template <class F>
  Ref<Event> sent_and(F&& record, bool is_awaited = false) {
    record_writes();
    record();
    lock_.unlock();
    if (!is_awaited) session().submit();
    return std::move(event_);
  }

 private:
  struct Write {
    MemoryObject* buffer;
    ByteRange range;
  };
  template <class Message>
  [[gnu::noinline, gnu::cold]] void send_traced(const Message& message) {
    Tracer::instance().send(session(), take_record(), message);
  }
  TraceRecordOwner take_record();
  [[gnu::cold]] void make_record(cl_command_type type, WaitList wait);
  void record_writes();
  void await_bytes(Event& event);

  CommandQueue& queue_;
  std::unique_lock<Mutex> lock_;  // over several functions, which no analysis follows
  TransferPlanner planner_;
  std::uint64_t sequence_ = 0;
  Ref<Event> event_;
  TraceRecordOwner record_;
  std::vector<PendingReads::Ticket> awaited_;  // reads among what it waits for, whose bytes are not here yet
  std::vector<Write> writes_;
};

}  // namespace remotecl
