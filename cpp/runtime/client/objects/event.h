#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/client/objects/command_queue.h"
#include "runtime/client/objects/context.h"
#include "runtime/client/objects/event_description.h"
#include "runtime/client/objects/event_end.h"
#include "runtime/client/objects/event_listeners.h"
#include "runtime/client/objects/handle.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// The event of a command, or a user event, which has no queue. Any thread.
class Event final : public Handle<_cl_event, HandleTag::kEvent, CL_INVALID_EVENT>, public EventSink {
 public:
  // A user event.
  explicit Event(Ref<Context> context);
  // The event of a command. `on_server`: the server knows it by id(); otherwise only the client ends it.
  // `aside`: it belongs to a transfer for a command that got its position in the queue before and runs after
  // it.
  Event(CommandQueue& queue, cl_command_type type, bool on_server, bool aside = false);

  EventId id() const { return id_; }
  Context& context() const { return *context_; }
  CommandQueue* queue() const { return queue_.get(); }
  bool is_user_event() const { return !queue_; }
  std::uint64_t sequence() const { return sequence_; }
  Session* session() const { return queue_ && on_server_ ? &queue_->session() : nullptr; }

  EventDescription& description() { return description_; }  // change it before the event is shared
  // Returns the four times, in ns of the host's clock, of a command that has ended. False: there are none.
  using Times = std::function<bool(EventEnd::Profile&)>;
  // profile() asks this, because the server's report says nothing of the command's times. Before the event is shared.
  void set_times(Times times) { times_ = std::make_unique<const Times>(std::move(times)); }
  // The command has it only for the runtime: its failure is the queue's, too. Before the event is shared.
  void report_failure_to_queue() { is_of_runtime_ = true; }
  using Gates = std::vector<Ref<Event>>;
  // The user events without which the command does not begin. Before the event is shared.
  void set_gates(const Gates& gates) {
    if (!gates.empty()) gates_ = std::make_unique<const Gates>(gates);
  }
  bool may_have_gates() const { return is_user_event() || gates_; }
  // What waits for this event does not begin before these user events are set. Adds those that are missing.
  void add_gates_to(Gates& gates);
  // After its end: why the command is known to have done nothing, if it is.
  enum class Unbegun {
    kUnknown,  // it may have begun
    kRefused,  // by its wait list or the driver
    kLost,     // its server was lost before one of its gates was set
  };
  Unbegun unbegun() const { return unbegun_.load(std::memory_order_acquire); }
  bool is_reported() const { return end_.is_reported(); }
  // Whether the queue will release it on the server instead of the destructor: see CommandQueue::keep_event().
  void leave_release_to_queue(bool leaves) { leaves_release_.store(leaves); }

  // CL_QUEUED to CL_COMPLETE or negative, as far as this process knows.
  cl_int status() const;
  bool ended() const { return status() <= CL_COMPLETE; }
  // Like status(), but asks the server once, for a moment at most, and processes what has arrived. Asks again once the
  // end of a command is known that may have waited for this one. Never waits for the event's end.
  cl_int poll_status();
  // Blocks until it has ended; returns the final status.
  cl_int wait();
  // The same with a deadline; returns false if it has not ended by then.
  bool wait_until(const OptionalDeadline& deadline);

  // For a blocking call: waits for the event. If `wanted` is not null, the caller gets the event, and the
  // thread's WaitLimit applies. Returns false if it has not ended.
  bool wait_in_call(const void* wanted);
  // A blocking call has reached its limit while waiting in another way.
  void leave_unended();

  // Asks the server to report the end; asks only once.
  void observe();
  // For commands whose end the server reports without being asked.
  void reported_unasked() { observed_.store(true); }
  // The same for an event that perhaps nobody waits for: the report is read in any case, and the event lives
  // until then. Unless `is_hurried`, the server reports it together with other messages, unless it is asked.
  void report_is_awaited(bool is_hurried = true);
  // Calls the function when the event has ended, on any thread. Returns false and calls nothing if it already
  // has.
  bool at_end(std::function<void()> function);
  // Ends the event; later calls are ignored. Runs callbacks (on the callback thread) and signals other
  // servers.
  void complete(cl_int status, const EventEnd::Profile* profile = nullptr) override;
  void refuse(cl_int status) override;
  // The server is lost, so neither this process nor other servers will hear of it again.
  void lose() override;
  // Delays complete() until release_hold(), which may report that the event has failed. For commands whose
  // data arrives separately from the server's report.
  void add_hold() { end_.add_hold(); }
  void release_hold(cl_int status = CL_COMPLETE);
  // Whether it may have ended for its server but not for the application, because its bytes are still
  // arriving.
  bool is_held() const { return end_.is_held() && !ended(); }

  void add_callback(const EventListeners::Callback& callback);
  // Returns the four times, in ns of the host's clock, and whether there are any. If the event has ended,
  // waits for the server's report.
  bool profile(EventEnd::Profile& times);
  // The same by the device's clock, as far as a report has said so; else null. Sends nothing.
  const EventEnd::Profile* device_times() const { return end_.profile(); }
  // Lets commands of `other`, which is not this event's own server, wait for it: announces it there now. It is
  // signalled later. `by_server`: by this event's server, which is linked with `other`; else by this process. The
  // server does not know of holds, so `by_server` must be false if commands have to wait for their release, too.
  void announce_to(Session& other, bool by_server);
  bool set_user_status(cl_int status);  // false if it was set before

 private:
  ~Event() override;
  bool report(cl_int status, const EventEnd::Profile* profile);
  void finish();
  // Makes the server's report come for a listener.
  void hurry();

  const EventId id_ = next_id();
  const Ref<Context> context_;
  const Ref<CommandQueue> queue_;
  const bool on_server_;
  const std::uint64_t sequence_;  // position in its queue; 0: none that implies anything
  EventDescription description_;
  std::unique_ptr<const Times> times_;
  std::atomic<bool> observed_{false};
  std::atomic<std::uint64_t> asked_at_{0};  // how many ends were known then: see CommandQueue::telling_ends()
  std::atomic<bool> leaves_release_{false};
  bool is_of_runtime_ = false;
  std::unique_ptr<const Gates> gates_;  // null: none
  std::atomic<Unbegun> unbegun_{Unbegun::kUnknown};
  EventEnd end_;
  EventListeners listeners_{*this};
};

}  // namespace remotecl
