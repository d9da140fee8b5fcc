#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "runtime/client/objects/context.h"
#include "runtime/client/objects/device.h"
#include "runtime/client/objects/kept_events.h"
#include "runtime/client/objects/pending_reads.h"
#include "runtime/client/objects/queue_placement.h"
#include "runtime/client/objects/returned_writes.h"
#include "runtime/client/session/session.h"

namespace remotecl {

class Event;

// A command queue, which represents a native queue on the device's server; or, on an automatic device, the queues that
// its placement has on the members. Any thread.
class CommandQueue final : public Handle<_cl_command_queue, HandleTag::kQueue, CL_INVALID_COMMAND_QUEUE>,
                           public QueueSink {
 public:
  // `internal`: for the runtime's own use; does not keep the context alive.
  CommandQueue(Context& context, Device& device, cl_command_queue_properties properties,
               std::vector<cl_queue_properties> property_list, bool internal = false);
  // A member on `device` of a queue on an automatic device, which it keeps alive.
  CommandQueue(CommandQueue& whole, Device& device);

  // Of a queue on an automatic device; null: it is an ordinary queue.
  QueuePlacement* placement() const { return placement_.get(); }
  // The queue that the application knows: this one, or the one that it is a member of. Null if it is internal.
  CommandQueue* known() { return whole_ ? whole_.get() : is_internal() ? nullptr : this; }

  Context& context() const { return context_; }
  Device& device() const { return device_; }
  Session& session() const { return device_.session(); }
  std::uint32_t location() const { return location_; }  // of its device in the context
  ObjectId id() const { return id_; }
  cl_command_queue_properties properties() const { return properties_; }
  const std::vector<cl_queue_properties>& property_list() const { return property_list_; }
  // Whether the application does not know it; then it does not keep its context alive.
  bool is_internal() const { return !keep_context_ && !whole_; }
  bool in_order() const { return (properties_ & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0; }
  bool profiling() const { return (properties_ & CL_QUEUE_PROFILING_ENABLE) != 0; }

  PendingReads& pending_reads() { return pending_reads_; }
  ReturnedWrites::OfQueue& returned_writes() { return returned_writes_; }
  // Whether earlier commands have something left to do in this process: bytes to receive or to send, or host work.
  bool owes_host() const {
    return placement_ ? placement_->owes_host() : !pending_reads_.none() || host_work_.load() != 0;
  }

  void flush() { placement_ ? placement_->flush() : session().flush(); }
  // Blocks until every command has ended. Returns CL_SUCCESS; or the error of the first command without an
  // event that failed since the last call (a command with an event reports through that); or
  // CL_DEVICE_NOT_AVAILABLE if the server is lost. Obeys the thread's WaitLimit.
  cl_int finish();
  // Nobody may ever wait for the commands so far: learns of their end nevertheless, so that what they have used does
  // not keep the queue.
  void learn_end();

  // Commands of the queue may wait for others than those before them: their ends say that these have ended, too.
  void waits_for_others() {
    if (!waits_for_others_.load(std::memory_order_relaxed)) waits_for_others_.store(true, std::memory_order_relaxed);
  }
  // An end of such a command is about to become known. Reports of other ends may be late.
  void end_becomes_known() const {
    if (waits_for_others_.load(std::memory_order_relaxed)) telling_ends_.fetch_add(1);
  }
  // How many of them are known in this process.
  static std::uint64_t telling_ends() { return telling_ends_.load(); }

  std::uint64_t next_sequence() { return last_sequence_.fetch_add(1, std::memory_order_relaxed) + 1; }
  // Every command up to this one is known to have ended.
  std::uint64_t finished_sequence() const { return finished_sequence_->load(std::memory_order_acquire); }
  void finished_through(std::uint64_t sequence) { raise(*finished_sequence_, sequence); }
  // Commands of this queue that this process executes (enqueue_host_work). The server waits for their end.
  void host_work_begins() { host_work_.fetch_add(1); }
  void host_work_ended() { host_work_.fetch_sub(1); }
  std::uint64_t last_sequence() const { return last_sequence_.load(std::memory_order_relaxed); }
  // Every command up to this one has ended, successfully or not. The bytes of a later read of an in-order
  // queue also show that, but not whether the commands succeeded.
  std::uint64_t ended_sequence() const {
    return std::max(finished_sequence(), ended_sequence_.load(std::memory_order_acquire));
  }
  void ended_up_to(std::uint64_t sequence) { raise(ended_sequence_, sequence); }
  // The same for one command of an out-of-order queue, whose end says nothing about others. Only the newest ends are
  // remembered.
  bool has_ended(std::uint64_t sequence) const {
    return ended_sequence() >= sequence || recent(sequence).ended.load(std::memory_order_acquire) == sequence;
  }
  void ended(std::uint64_t sequence) { recent(sequence).ended.store(sequence, std::memory_order_release); }
  // The command's event is this one.
  void has_event(std::uint64_t sequence, EventId event) REQUIRES(kMemoryMutex) {
    recent(sequence).with_event = sequence;
    recent(sequence).event = event;
  }
  // The command's event stays on the server while it is one of the newest that were named here, even if the application
  // has none (then `event` is null) or releases it. Returns another event or null, to be released without a lock.
  Ref<Event> keep_event(std::uint64_t sequence, EventId id, Event* event) REQUIRES(kMemoryMutex);
  // Returns 0 if the command has none, if nobody holds it any more, or if it is long ago. The server has the event
  // until the memory mutex is unlocked and `holder` is released.
  EventId event_of(std::uint64_t sequence, Ref<Event>& holder) REQUIRES(kMemoryMutex);
  // The newest command that waits for a user event, by its event; those behind it in order begin after it.
  void has_gated(EventId event) REQUIRES(kMemoryMutex) { gated_ = event; }
  bool may_be_gated() const REQUIRES(kMemoryMutex) { return gated_ != 0; }
  // Null if there is none, if its end was reported, or if nobody holds the event any more.
  Ref<Event> gated() REQUIRES(kMemoryMutex);
  // For positions, which only grow.
  static void raise(std::atomic<std::uint64_t>& known, std::uint64_t sequence);
  // Keeps the first failure for the next blocking call.
  void command_failed(cl_int status) override;
  // Whether there has ever been one.
  bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }
  cl_int take_failure() { return failure_.exchange(CL_SUCCESS); }

 private:
  ~CommandQueue() override;
  void last_handle_released() override;

  // What is known of the newest commands whose positions have this remainder.
  struct Recent {
    std::atomic<std::uint64_t> ended{0};
    std::uint64_t with_event GUARDED_BY(kMemoryMutex) = 0;
    EventId event GUARDED_BY(kMemoryMutex) = 0;
  };
  Recent& recent(std::uint64_t sequence) { return recent_[sequence % recent_.size()]; }
  const Recent& recent(std::uint64_t sequence) const { return recent_[sequence % recent_.size()]; }
  void create_on_server(cl_command_queue_properties properties);

  Context& context_;
  const Ref<Context> keep_context_;
  const Ref<CommandQueue> whole_;  // that it is a member of
  std::unique_ptr<QueuePlacement> placement_;
  Device& device_;
  const Ref<Device> keep_device_;
  const std::uint32_t location_;
  const cl_command_queue_properties properties_;
  const std::vector<cl_queue_properties> property_list_;
  const ObjectId id_ = next_id();
  inline static std::atomic<std::uint64_t> telling_ends_{0};
  std::atomic<bool> waits_for_others_{false};
  std::atomic<std::uint64_t> last_sequence_{0};
  // Shared with replies, which do not keep the queue.
  const std::shared_ptr<std::atomic<std::uint64_t>> finished_sequence_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<std::uint64_t> ended_sequence_{0};
  std::array<Recent, 64> recent_;
  KeptEvents kept_events_ GUARDED_BY(kMemoryMutex);
  EventId gated_ GUARDED_BY(kMemoryMutex) = 0;  // 0: none
  std::atomic<cl_int> failure_{CL_SUCCESS};
  std::atomic<bool> has_failed_{false};
  PendingReads pending_reads_;
  ReturnedWrites::OfQueue returned_writes_;
  std::atomic<int> host_work_{0};
  // A finish() that ran out of time before the answer came. If nothing has been enqueued since, the next one
  // waits for the same answer.
  struct Unfinished {
    std::shared_ptr<std::atomic<bool>> answered;
    std::uint64_t last = 0;

    std::shared_ptr<std::atomic<bool>> answered_for(std::uint64_t sequence) const {
      return last == sequence ? answered : nullptr;
    }
  };
  Unfinished unfinished_ GUARDED_BY(kMemoryMutex);
};

}  // namespace remotecl
