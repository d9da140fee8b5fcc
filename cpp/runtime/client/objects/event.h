#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/objects/command_queue.h"
#include "runtime/client/objects/context.h"
#include "runtime/client/objects/handle.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// The event of a command, or a user event, which has no queue. Any thread.
class Event final : public Handle<_cl_event, HandleTag::kEvent, CL_INVALID_EVENT>, public EventSink {
 public:
  using Callback = void(CL_CALLBACK*)(cl_event, cl_int, void*);

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
  cl_command_type command_type() const { return type_; }
  Session* session() const { return queue_ && on_server_ ? &queue_->session() : nullptr; }

  // For tools: the events in its wait list, and the name of the kernel if the command runs one. Set before
  // the event is shared.
  void set_waits(std::vector<EventId> waits) { waits_ = std::move(waits); }
  const std::vector<EventId>& waits() const { return waits_; }
  void set_kernel_name(const std::string& name) { kernel_name_ = name; }
  const std::string& kernel_name() const { return kernel_name_; }

  // CL_QUEUED to CL_COMPLETE or negative, as far as this process knows.
  cl_int status() const;
  bool ended() const { return status() <= CL_COMPLETE; }
  // Like status(), but asks the server once, for a moment at most, and processes what has arrived. Never waits for
  // the event's end.
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
  void complete(cl_int status, const std::array<std::uint64_t, 4>* profile = nullptr) override;
  // The server is lost, so neither this process nor other servers will hear of it again.
  void lose() override;
  // Delays complete() until release_hold(), which may report that the event has failed. For commands whose
  // data arrives separately from the server's report.
  void add_hold() { holds_.fetch_add(1); }
  void release_hold(cl_int status = CL_COMPLETE);
  // Whether it may have ended for its server but not for the application, because its bytes are still
  // arriving.
  bool is_held() const { return holds_.load() != 0 && !ended(); }

  void add_callback(cl_int state, Callback function, void* user_data);
  // Returns the four times, in ns of the host's clock, and whether there are any. If the event has ended,
  // waits for the server's report.
  bool profile(std::array<std::uint64_t, 4>& times);
  // Lets commands of `other`, which is not this event's own server, wait for it: announces it there now. It
  // is signalled later, by this event's server if the two are linked.
  void announce_to(Session& other) { announce_to(other, true); }
  // The same for an event that ends later than its server knows, because its holds must be released too.
  void announce_with_holds_to(Session& other) { announce_to(other, false); }
  bool set_user_status(cl_int status);  // false if it was set before

 private:
  void announce_to(Session& other, bool may_be_by_server);
  struct Registered {
    cl_int state;
    Callback function;
    void* user_data;
  };
  ~Event() override;
  // The work to do without the lock once it has ended.
  struct End;
  End end_now() REQUIRES(mutex_);
  void report(End& end) EXCLUDES(mutex_);
  // Keeps this event and the background reader alive until it has ended.
  void expect_end() REQUIRES(mutex_);

  const EventId id_ = next_id();
  const Ref<Context> context_;
  const Ref<CommandQueue> queue_;
  const cl_command_type type_;
  const bool on_server_;
  const std::uint64_t sequence_;     // position in its queue; 0: none that implies anything
  const std::uint64_t enqueued_ns_;  // host clock; 0 without profiling
  std::vector<EventId> waits_;
  std::string kernel_name_;
  std::atomic<cl_int> status_;
  std::atomic<bool> observed_{false};
  std::atomic<int> holds_{0};
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::atomic<bool> reported_{false};         // complete() was called; written under mutex_
  bool expected_ GUARDED_BY(mutex_) = false;  // expect_end() was called
  // The status to end with once the holds are released; written under mutex_.
  std::atomic<cl_int> held_status_{CL_COMPLETE};
  bool has_profile_ GUARDED_BY(mutex_) = false;
  std::array<std::uint64_t, 4> profile_ GUARDED_BY(mutex_){};
  std::vector<Registered> callbacks_ GUARDED_BY(mutex_);
  std::vector<std::function<void()>> at_end_ GUARDED_BY(mutex_);
  struct Announced {
    Session* session;
    bool by_server;  // signalled by this event's server, not by this process
  };
  std::vector<Announced> announced_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
