#pragma once

#include <CL/cl.h>

#include <functional>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

class Event;
class Session;

// The listeners of an event's end: the application's callbacks, functions of the runtime, and other servers. An
// event that has a listener lives until its end, and its session's background thread reads until then. Owned
// by the event. Any thread.
class EventListeners {
 public:
  struct Callback {
    cl_int state;
    void(CL_CALLBACK* function)(cl_event, cl_int, void*);
    void* user_data;
  };
  struct Announcement {
    Session* server;
    bool by_server;  // signalled by the event's server, not by this process
  };

  explicit EventListeners(Event& event) : event_(event) {}
  ~EventListeners();
  EventListeners(const EventListeners&) = delete;
  EventListeners& operator=(const EventListeners&) = delete;

  // If the event has reached the callback's state, this has it called soon and returns false.
  bool add(const Callback& callback) EXCLUDES(mutex_);
  // Returns false, and adds nothing, after the end.
  bool add(std::function<void()> function) EXCLUDES(mutex_);
  // Keeps the event alive until its end without a listener.
  void keep_event() EXCLUDES(mutex_);
  // Announces the event to another server, once. `by_server`: its own server can signal it. Returns true if
  // this process has to signal the end, which is not there yet.
  bool announce_to(Session& other, bool by_server) EXCLUDES(mutex_);
  // The event's server is lost: signals the end to the servers to which it would have signalled it. Those that
  // know more ignore this.
  void signal_for_lost_server(cl_int status) EXCLUDES(mutex_);
  // The event has ended with this status: everybody learns of it.
  void notify(cl_int status) EXCLUDES(mutex_);

 private:
  // Returns false after the end.
  bool add_keeper() REQUIRES(mutex_);
  void post(const Callback& callback, cl_int status) const;

  Event& event_;
  Mutex mutex_;
  bool has_ended_ GUARDED_BY(mutex_) = false;
  bool keeps_event_ GUARDED_BY(mutex_) = false;
  std::vector<Callback> callbacks_ GUARDED_BY(mutex_);
  std::vector<std::function<void()>> functions_ GUARDED_BY(mutex_);
  std::vector<Announcement> announced_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
