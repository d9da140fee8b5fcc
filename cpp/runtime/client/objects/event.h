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

// A command's event, or a user event (no queue). Any thread.
class Event final : public Handle<_cl_event, HandleTag::kEvent, CL_INVALID_EVENT>, public EventSink {
 public:
  using Callback = void(CL_CALLBACK*)(cl_event, cl_int, void*);

  // User event.
  explicit Event(Ref<Context> context);
  // Event of a command. `on_server`: the server knows it by id(); else it is ended by the client alone.
  // `aside`: a transfer for a command that was given its place in the queue before, and runs after it.
  Event(CommandQueue& queue, cl_command_type type, bool on_server, bool aside = false);

  EventId id() const { return id_; }
  Context& context() const { return *context_; }
  CommandQueue* queue() const { return queue_.get(); }
  bool is_user_event() const { return !queue_; }
  std::uint64_t sequence() const { return sequence_; }
  cl_command_type command_type() const { return type_; }
  Session* session() const { return queue_ && on_server_ ? &queue_->session() : nullptr; }

  // For those who look inside: what it waits for by its wait list, and the kernel of a command that runs one. Set
  // before anybody else knows the event.
  void set_waits(std::vector<EventId> waits) { waits_ = std::move(waits); }
  const std::vector<EventId>& waits() const { return waits_; }
  void set_kernel_name(const std::string& name) { kernel_name_ = name; }
  const std::string& kernel_name() const { return kernel_name_; }

  // CL_QUEUED .. CL_COMPLETE or negative, as far as this process knows.
  cl_int status() const;
  bool ended() const { return status() <= CL_COMPLETE; }
  // As status(), after asking the server, once, and taking in what has arrived. Never waits for the event's end.
  cl_int poll_status();
  // Blocks until it has ended; returns the final status.
  cl_int wait();
  // The same until the deadline; false when it has not ended by then.
  bool wait_until(const OptionalDeadline& deadline);

  // For a blocking call, which gives the event to its caller where `wanted` is not null: waits for it, in that case
  // only as long as the thread's WaitLimit allows. False when it has not ended.
  bool wait_in_call(const void* wanted);
  // A blocking call has waited as long as it may, by other means.
  void leave_unended();

  // Asks the server, once, to report the end.
  void observe();
  // For commands whose end the server reports unasked.
  void reported_unasked() { observed_.store(true); }
  // The same where nobody may ever wait: somebody reads the report, and the event lives until then. Not `is_hurried`:
  // the server reports it with other messages, unless it is asked to.
  void report_is_awaited(bool is_hurried = true);
  // Calls the function when it has ended, on any thread. False, and nothing is called, if it has already.
  bool at_end(std::function<void()> function);
  // The end. Later calls are ignored. Runs callbacks (on the callback thread), tells other servers.
  void complete(cl_int status, const std::array<std::uint64_t, 4>* profile = nullptr) override;
  // The server is gone: nothing more will be heard of it, neither here nor by other servers.
  void lose() override;
  // Holds complete() back until release_hold(), which may say why the event has failed: for commands whose data arrives
  // apart from the server's report.
  void add_hold() { holds_.fetch_add(1); }
  void release_hold(cl_int status = CL_COMPLETE);
  // Whether it may have ended for its server and not for the application, whose bytes are still on their way.
  bool is_held() const { return holds_.load() != 0 && !ended(); }

  void add_callback(cl_int state, Callback function, void* user_data);
  // The four times, in ns of the host's clock. Whether profiling data exist; waits for the server's report when the
  // event has ended already.
  bool profile(std::array<std::uint64_t, 4>& times);
  // Makes `other` (a server that is not this event's own) able to wait for it: announces it there now; it is signalled
  // later, by this event's server where the two are linked.
  void announce_to(Session& other) { announce_to(other, true); }
  // The same where the end is more than its server knows of: holds have to be gone, too.
  void announce_with_holds_to(Session& other) { announce_to(other, false); }
  bool set_user_status(cl_int status);  // false when it was set already

 private:
  void announce_to(Session& other, bool may_be_by_server);
  struct Registered {
    cl_int state;
    Callback function;
    void* user_data;
  };
  ~Event() override;
  // What is to be done once it has ended, without the lock.
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
  const std::uint64_t sequence_;     // position in its queue; 0: none that tells anything
  const std::uint64_t enqueued_ns_;  // host clock; 0 without profiling
  std::vector<EventId> waits_;
  std::string kernel_name_;
  std::atomic<cl_int> status_;
  std::atomic<bool> observed_{false};
  std::atomic<int> holds_{0};
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::atomic<bool> reported_{false};         // complete() has been called; written under mutex_
  bool expected_ GUARDED_BY(mutex_) = false;  // expect_end() has been called
  // What to end with once the holds are gone; written under mutex_.
  std::atomic<cl_int> held_status_{CL_COMPLETE};
  bool has_profile_ GUARDED_BY(mutex_) = false;
  std::array<std::uint64_t, 4> profile_ GUARDED_BY(mutex_){};
  std::vector<Registered> callbacks_ GUARDED_BY(mutex_);
  std::vector<std::function<void()>> at_end_ GUARDED_BY(mutex_);
  struct Announced {
    Session* session;
    bool by_server;  // this event's server tells it, and not this process
  };
  std::vector<Announced> announced_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
