#include "runtime/client/objects/event_listeners.h"

#include <algorithm>

#include "runtime/client/objects/event.h"
#include "runtime/client/support/callback_thread.h"

namespace remotecl {

EventListeners::~EventListeners() {
  for (const Announcement& announced : announced_) announced.server->send(ReleaseEvent{event_.id()});
}

bool EventListeners::add_keeper() {
  if (has_ended_) return false;
  if (!std::exchange(keeps_event_, true)) {
    event_.retain();
    if (Session* server = event_.session()) server->add_interest();
  }
  return true;
}

void EventListeners::keep_event() {
  const MutexLock lock(mutex_);
  add_keeper();
}

bool EventListeners::add(const Callback& callback) {
  {
    const MutexLock lock(mutex_);
    // Every command that an application can name has reached CL_SUBMITTED.
    if (callback.state != CL_SUBMITTED && add_keeper()) {
      callbacks_.push_back(callback);
      return true;
    }
  }
  post(callback, event_.status());
  return false;
}

void EventListeners::post(const Callback& callback, cl_int status) const {
  post_callback([event = Ref<Event>(&event_), callback, status] {
    callback.function(event->handle(), status < 0 ? status : callback.state, callback.user_data);
  });
}

bool EventListeners::add(std::function<void()> function) {
  const MutexLock lock(mutex_);
  if (!add_keeper()) return false;
  functions_.push_back(std::move(function));
  return true;
}

bool EventListeners::announce_to(Session& other, bool by_server) {
  const EventId id = event_.id();
  const MutexLock lock(mutex_);
  const auto is_same = [&other](const Announcement& announced) { return announced.server == &other; };
  if (std::any_of(announced_.begin(), announced_.end(), is_same)) return false;
  if (by_server && !has_ended_) {
    Session& own = *event_.session();
    announced_.push_back({&other, true});
    other.send(ExpectEvent{id, own.peer_id()});
    own.send(ForwardEvent{id, other.peer_id()});
    own.submit_now();
    return false;
  }
  announced_.push_back({&other, false});
  other.send(ExpectEvent{id});
  if (add_keeper()) return true;
  other.send(SignalEvent{id, event_.status()});
  return false;
}

void EventListeners::signal_for_lost_server(cl_int status) {
  std::vector<Announcement> announced;
  {
    const MutexLock lock(mutex_);
    announced = announced_;
  }
  for (const auto& [other, by_server] : announced) {
    if (by_server) other->send(SignalEvent{event_.id(), status, event_.session()->peer_id()});
  }
}

void EventListeners::notify(cl_int status) {
  std::vector<Callback> callbacks;
  std::vector<std::function<void()>> functions;
  std::vector<Announcement> announced;
  bool is_kept = false;
  {
    const MutexLock lock(mutex_);
    has_ended_ = true;
    is_kept = keeps_event_;
    if (!is_kept) return;
    callbacks.swap(callbacks_);
    functions.swap(functions_);
    announced = announced_;
  }
  for (const auto& function : functions) function();
  for (const Callback& callback : callbacks) post(callback, status);
  for (const auto& [other, by_server] : announced) {
    if (by_server) continue;
    other->send(SignalEvent{event_.id(), status});
    other->submit_now();
  }
  if (Session* server = event_.session()) server->drop_interest();
  event_.release();
}

}  // namespace remotecl
