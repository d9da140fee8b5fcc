#include "runtime/client/objects/event.h"

#include <algorithm>
#include <optional>

#include "runtime/base/mutex.h"
#include "runtime/client/session/peer_links.h"
#include "runtime/client/support/callback_thread.h"

namespace remotecl {

namespace {

// How long a question about an event waits for the server. Python's lock may be held meanwhile.
constexpr std::chrono::milliseconds kStatusWait{200};

}  // namespace

Event::Event(Ref<Context> context)
    : context_(std::move(context)),
      type_(CL_COMMAND_USER),
      on_server_(false),
      sequence_(0),
      enqueued_ns_(0),
      status_(CL_SUBMITTED) {
  context_->user_event_opened();
}

Event::Event(CommandQueue& queue, cl_command_type type, bool on_server, bool aside)
    : context_(&queue.context()),
      queue_(&queue),
      type_(type),
      on_server_(on_server),
      sequence_(aside ? 0 : queue.next_sequence()),
      enqueued_ns_(queue.profiling() ? host_time_ns() : 0),
      status_(CL_QUEUED) {
  if (on_server && !queue.session().register_event(id_, *this, *this)) complete(CL_DEVICE_NOT_AVAILABLE);
}

Event::~Event() {
  if (is_user_event() && status_.load() > CL_COMPLETE) context_->user_event_closed();
  if (!announced_.empty() || on_server_) {
    if (on_server_) {
      queue_->session().unregister_event(id_);
      queue_->session().send(ReleaseEvent{id_});
    }
    for (const Announced& announced : announced_) announced.session->send(ReleaseEvent{id_});
  }
}

cl_int Event::status() const {
  const cl_int status = status_.load(std::memory_order_acquire);
  if (status > CL_COMPLETE && on_server_ && sequence_ != 0 && holds_.load() == 0 &&
      queue_->finished_sequence() >= sequence_) {
    return held_status_.load();
  }
  return status;
}

cl_int Event::poll_status() {
  const cl_int known = status();
  if (known <= CL_COMPLETE || session() == nullptr) return known;
  if (observed_.exchange(true)) {
    session()->poll();
  } else {
    // The first call asks the server; later ones rely on its report. A server that is far behind may take long.
    session()->send(ObserveEvent{id_});
    session()->round_trip_us(std::chrono::steady_clock::now() + kStatusWait);
  }
  const cl_int now = status();
  return now == CL_QUEUED ? CL_SUBMITTED : now;
}

cl_int Event::wait() {
  wait_until({});
  return status();
}

bool Event::wait_until(const OptionalDeadline& deadline) {
  const auto has_ended = [this] { return ended(); };
  if (has_ended()) return true;
  if (Session* server = session()) {
    if (!observed_.exchange(true)) server->append(ObserveEvent{id_});
    if (!server->wait(has_ended, deadline) && !server->lost()) return false;
    if (!ended()) complete(CL_DEVICE_NOT_AVAILABLE);
  }
  Submitter::instance().submit_all();
  MutexLock lock(mutex_);
  if (deadline) return changed_.wait_until(mutex_, *deadline, has_ended);
  changed_.wait(mutex_, has_ended);
  return true;
}

bool Event::wait_in_call(const void* wanted) {
  if (wait_until(wanted == nullptr ? OptionalDeadline() : WaitLimit::deadline())) return true;
  leave_unended();
  return false;
}

void Event::leave_unended() {
  WaitLimit::note(WaitLimit::kInUse);
  report_is_awaited(false);  // otherwise the bytes of a read would be received only when somebody waits again
}

void Event::observe() {
  if (!on_server_ || observed_.exchange(true)) return;
  queue_->session().send(ObserveEvent{id_});
}

void Event::report_is_awaited(bool is_hurried) {
  const MutexLock lock(mutex_);
  if (is_hurried) observed_.store(true);
  if (status_.load() > CL_COMPLETE) expect_end();
}

void Event::expect_end() {
  if (expected_) return;
  expected_ = true;
  retain();
  if (Session* server = session()) server->add_interest();
}

struct Event::End {
  cl_int status;
  std::vector<Registered> callbacks;
  std::vector<Announced> announced;
  std::vector<std::function<void()>> at_end;
  bool was_expected;
};

void Event::complete(cl_int status, const std::array<std::uint64_t, 4>* profile) {
  std::optional<End> end;
  {
    const MutexLock lock(mutex_);
    if (reported_) return;
    reported_ = true;
    if (status >= CL_COMPLETE && on_server_ && queue_->in_order()) queue_->finished_through(sequence_);
    if (held_status_ >= CL_COMPLETE) held_status_ = std::min(status, cl_int{CL_COMPLETE});
    if (profile != nullptr) {
      profile_ = *profile;
      has_profile_ = true;
    }
    if (holds_.load() == 0) end = end_now();
  }
  if (end) report(*end);
}

void Event::lose() {
  const bool was_reported = reported_.load();
  complete(ended() ? status() : CL_DEVICE_NOT_AVAILABLE);
  std::vector<Announced> announced;
  std::optional<End> end;
  {
    const MutexLock lock(mutex_);
    announced = announced_;
    if (!was_reported && status_.load() > CL_COMPLETE) {  // even if bytes of other servers are missing
      if (held_status_ >= CL_COMPLETE) held_status_ = CL_DEVICE_NOT_AVAILABLE;
      end = end_now();
    }
  }
  if (end) report(*end);
  // Servers that were to hear from the lost server are signalled from here; those that know more ignore it.
  for (const auto& [other, by_server] : announced) {
    if (by_server) other->send(SignalEvent{id_, status_.load(), session()->peer_id()});
  }
}

void Event::release_hold(cl_int status) {
  std::optional<End> end;
  {
    const MutexLock lock(mutex_);
    if (held_status_ >= CL_COMPLETE) held_status_ = status;
    if (holds_.fetch_sub(1) == 1 && reported_ && status_.load() > CL_COMPLETE) end = end_now();
  }
  if (end) report(*end);
}

Event::End Event::end_now() {
  const cl_int status = held_status_;
  status_.store(status, std::memory_order_release);
  if (is_user_event()) context_->user_event_closed();
  changed_.notify_all();
  return {status, std::exchange(callbacks_, {}), announced_, std::exchange(at_end_, {}), expected_};
}

void Event::report(End& end) {
  for (const auto& function : end.at_end) function();
  for (const Registered& callback : end.callbacks) {
    post_callback([keep = Ref<Event>(this), callback, status = end.status] {
      callback.function(keep->handle(), status < 0 ? status : callback.state, callback.user_data);
    });
  }
  for (const auto& [other, by_server] : end.announced) {
    if (by_server) continue;
    other->send(SignalEvent{id_, end.status});
    other->submit_now();
  }
  if (end.was_expected) {
    if (Session* server = session()) server->drop_interest();
    release();
  }
}

bool Event::at_end(std::function<void()> function) {
  {
    const MutexLock lock(mutex_);
    if (status_.load() <= CL_COMPLETE) return false;
    at_end_.push_back(std::move(function));
    expect_end();
  }
  observe();
  return true;
}

void Event::add_callback(cl_int state, Callback function, void* user_data) {
  {
    const MutexLock lock(mutex_);
    // Every command that an application can name has reached CL_SUBMITTED.
    if (status_.load() > CL_COMPLETE && state != CL_SUBMITTED) {
      callbacks_.push_back({state, function, user_data});
      expect_end();
      function = nullptr;
    }
  }
  if (function != nullptr) {
    const cl_int now = status_.load();
    post_callback([keep = Ref<Event>(this), function, state, user_data, now] {
      function(keep->handle(), now < 0 ? now : state, user_data);
    });
    return;
  }
  if (session() != nullptr) {
    observe();
    session()->submit_now();
  }
}

bool Event::profile(std::array<std::uint64_t, 4>& times) {
  if (Session* server = session()) {
    observe();
    server->wait([this] { return reported_.load(); });
  }
  {
    const MutexLock lock(mutex_);
    if (!has_profile_) return false;
    times = profile_;
  }
  const std::uint64_t offset_ns = queue_->device().clock_offset_ns();
  for (std::uint64_t& time : times) time += offset_ns;
  // "the current device time counter in nanoseconds when the command identified by event is enqueued in a
  // command-queue by the host": that was here. The server's driver may have received it much later.
  times[0] = std::min(enqueued_ns_, times[1]);
  return true;
}

void Event::announce_to(Session& other, bool may_be_by_server) {
  const bool by_server = may_be_by_server && session() != nullptr && PeerLinks::instance().connected(*session(), other);
  {
    const MutexLock lock(mutex_);
    const auto same = [&other](const Announced& announced) { return announced.session == &other; };
    if (std::any_of(announced_.begin(), announced_.end(), same)) return;
    if (by_server && status_.load() > CL_COMPLETE) {
      other.send(ExpectEvent{id_, session()->peer_id()});
      announced_.push_back({&other, true});
      session()->send(ForwardEvent{id_, other.peer_id()});
      session()->submit_now();
      return;
    }
    other.send(ExpectEvent{id_});
    announced_.push_back({&other, false});
    if (status_.load() <= CL_COMPLETE) {
      other.send(SignalEvent{id_, status_.load()});
      return;
    }
    expect_end();
  }
  if (session() != nullptr) {
    observe();
    session()->submit_now();
  }
}

bool Event::set_user_status(cl_int status) {
  {
    const MutexLock lock(mutex_);
    if (reported_) return false;
  }
  complete(status);
  return true;
}

}  // namespace remotecl
