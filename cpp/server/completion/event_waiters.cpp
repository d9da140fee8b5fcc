#include "server/completion/event_waiters.h"

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "server/completion/event_poller.h"
#include "server/completion/event_status.h"
#include "server/completion/patient_wait.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

// The lane's key: the event's queue if that is in order, else the event.
void* queue_or_event(cl_event event) {
  const auto queue = event_value<cl_command_queue>(event, CL_EVENT_COMMAND_QUEUE);
  cl_command_queue_properties properties = 0;
  if (queue == nullptr ||
      clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr) != CL_SUCCESS) {
    return event;
  }
  return (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0 ? static_cast<void*>(event) : queue;
}

// Lanes whose ends are reported apart have keys of their own.
void* lane_of(cl_event event, bool is_apart) {
  void* const key = queue_or_event(event);
  return is_apart ? static_cast<char*>(key) + 1 : key;
}

}  // namespace

void EventWaiters::add(cl_context context) {
  MutexLock lock(mutex_);
  contexts_.insert(context);
  is_needed_.store(true, std::memory_order_relaxed);
}

void EventWaiters::stop() {
  MutexLock lock(mutex_);
  is_stopped_ = true;
  wake_.notify_all();
}

void EventWaiters::insert(Lane& lane, Job job) {
  const auto after = [](Position position, const Job& other) { return position < other.position; };
  const auto at =
      lane.is_apart ? lane.jobs.end() : std::upper_bound(lane.jobs.begin(), lane.jobs.end(), job.position, after);
  lane.jobs.insert(at, std::move(job));
}

bool EventWaiters::wait(cl_event event, Function& function, Report report, Position position) {
  if (!is_needed_.load(std::memory_order_relaxed)) return false;
  const auto context = event_value<cl_context>(event, CL_EVENT_CONTEXT);
  const bool is_apart = report == Report::kApart;
  // Between the positions of the last command and the next one.
  position = position == CompletionNotifier::kLast ? 2 * last_.load(std::memory_order_relaxed) + 1 : 2 * position;
  void* key = lane_of(event, is_apart);
  const cl_int status = execution_status(event);
  const bool has_ended = status <= CL_COMPLETE;
  bool is_watched = true;
  std::uint64_t collected = 0;
  {
    MutexLock lock(mutex_);
    if (!contexts_.contains(context)) return false;
    auto lane = lanes_.find(key);
    // A later event of the lane is waited for already, so this one gets a lane of its own.
    if (!has_ended && !is_apart && lane != lanes_.end() && !lane->second.jobs.empty() &&
        position < lane->second.jobs.front().position) {
      lane = lanes_.find(key = event);
    }
    const bool is_new = lane == lanes_.end();
    if (is_new && has_ended && is_apart) {
      lock.unlock();
      function(status);
      return true;
    }
    Job job{Native<cl_event>::retained(event), ++jobs_, std::move(function), position};
    if (has_ended && !is_apart) {
      collect_ended();
      collect(std::move(job), status);
      collected = collected_;
    } else if (is_new) {
      is_watched = open(key, is_apart, std::move(job));
    } else {
      insert(lane->second, std::move(job));
    }
  }
  if (!is_watched) call_back(key, Native<cl_event>::retained(event));
  if (!has_ended || is_apart) return true;
  if (report == Report::kAsked) {
    report_asked(collected);
  } else {
    this->report();
  }
  return true;
}

bool EventWaiters::open(void* key, bool is_apart, Job job) {
  const bool has_thread = has_thread_for_one_more();
  lanes_.emplace(key, Lane{is_apart}).first->second.jobs.push_back(std::move(job));
  EventPoller* const poller = EventPoller::current();
  if (!has_thread) {
    ++callbacks_;
  } else if (!is_apart && poller != nullptr && poller->is_of(*this)) {
    unwatched_.push_back(key);
    has_unwatched_.store(true, std::memory_order_relaxed);
  } else {
    watch(key);
  }
  return has_thread;
}

bool EventWaiters::has_thread_for_one_more() {
  if (threads_ + callbacks_ > lanes_.size()) return true;
  if (threads_ >= kThreadsMax) return false;
  try {
    std::thread([self = Ref<EventWaiters>(this)] { self->run(); }).detach();
  } catch (const std::exception& error) {
    log_warning("no thread to wait for events: {}", error.what());
    return false;
  }
  ++threads_;
  return true;
}

void EventWaiters::watch(void* key) {
  ready_.push_back(key);
  wake_.notify_one();
}

void EventWaiters::watch_all() {
  MutexLock lock(mutex_);
  for (void* const key : std::exchange(unwatched_, {})) watch(key);
  has_unwatched_.store(false, std::memory_order_relaxed);
}

void EventWaiters::look() {
  {
    MutexLock lock(mutex_);
    collect_ended();
    std::erase_if(unwatched_, [this](void* key) REQUIRES(mutex_) {
      const auto lane = lanes_.find(key);
      if (!lane->second.jobs.empty()) return false;
      lanes_.erase(lane);
      return true;
    });
    has_unwatched_.store(!unwatched_.empty(), std::memory_order_relaxed);
  }
  report();
}

void EventWaiters::run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (ready_.empty() && !is_stopped_) wake_.wait(mutex_);
    if (ready_.empty()) break;
    void* const key = ready_.front();
    ready_.pop_front();
    lock.unlock();
    guard([&] { run(key); });
    lock.lock();
  }
  --threads_;
}

void EventWaiters::run(void* key) {
  const auto next = [&] {
    const MutexLock lock(mutex_);
    return first(key);
  };
  while (const Native<cl_event> event = next()) {
    end_first(key, event, wait_patiently(event.get()));
  }
}

struct EventWaiters::Callback {
  Ref<EventWaiters> waiters;
  void* key;
  Native<cl_event> event;

  static void CL_CALLBACK call(cl_event, cl_int status, void* data) {
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
    callback->waiters->guard([&] { callback->waiters->called_back(callback->key, callback->event, status); });
  }
};

void EventWaiters::call_back(void* key, Native<cl_event> event) {
  const cl_event native = event.get();
  auto* const callback = new Callback{Ref<EventWaiters>(this), key, std::move(event)};
  const cl_int error = clSetEventCallback(native, CL_COMPLETE, Callback::call, callback);
  if (error != CL_SUCCESS) Callback::call(native, error, callback);
}

void EventWaiters::called_back(void* key, const Native<cl_event>& event, cl_int status) {
  end_first(key, event, std::min(status, CL_COMPLETE));
  Native<cl_event> next;
  {
    MutexLock lock(mutex_);
    next = first(key);
    // The lane and its callback are removed under one lock, because has_thread_for_one_more() counts both.
    if (!next || has_thread_for_one_more()) {
      --callbacks_;
      if (next) watch(key);
      return;
    }
  }
  call_back(key, std::move(next));
}

Native<cl_event> EventWaiters::first(void* key) {
  const auto lane = lanes_.find(key);
  if (!lane->second.jobs.empty()) return lane->second.jobs.front().event.copy();
  lanes_.erase(lane);
  return {};
}

void EventWaiters::end_first(void* key, const Native<cl_event>& event, cl_int error) {
  Job apart;
  {
    MutexLock lock(mutex_);
    Lane& lane = lanes_.find(key)->second;
    const auto is_first = [&] { return !lane.jobs.empty() && lane.jobs.front().event.get() == event.get(); };
    if (lane.is_apart) {
      apart = std::move(lane.jobs.front());
      lane.jobs.pop_front();
    } else if (is_first()) {  // otherwise another thread has seen the end
      collect_ended();
      // The wait is over or has failed, whatever the driver says of the event's status.
      if (is_first()) {
        collect(std::move(lane.jobs.front()), error);
        lane.jobs.pop_front();
      }
    }
  }
  if (apart.function) {
    const cl_int status = execution_status(event.get());
    apart.function(status <= CL_COMPLETE ? status : error);
  } else {
    report();
  }
}

// Repeats after each find, because what an ended event has waited for has ended too, and may have been
// checked before.
void EventWaiters::collect_ended() {
  const auto first = static_cast<std::ptrdiff_t>(ended_.size());
  for (bool has_found = true; has_found;) {
    has_found = false;
    for (auto& [key, lane] : lanes_) {
      while (!lane.is_apart && !lane.jobs.empty()) {
        Job& job = lane.jobs.front();
        const cl_int status = execution_status(job.event.get());
        if (status > CL_COMPLETE) break;
        collect(std::move(job), status);
        lane.jobs.pop_front();
        has_found = true;
      }
    }
  }
  std::sort(ended_.begin() + first, ended_.end(), [](const Job& a, const Job& b) { return a.number < b.number; });
}

void EventWaiters::collect(Job job, cl_int status) {
  job.status = status;
  ended_.push_back(std::move(job));
  ++collected_;
}

void EventWaiters::report() {
  const Ref<EventWaiters> kept(this);  // a function may release the last reference to the session
  MutexLock lock(mutex_);
  if (reporter_ != std::thread::id()) return;
  reporter_ = std::this_thread::get_id();
  while (!ended_.empty()) {
    Job job = std::move(ended_.front());
    ended_.pop_front();
    lock.unlock();
    guard([&] { job.function(job.status); });
    job = {};
    lock.lock();
    ++reported_;
    reported_some_.notify_all();
  }
  reporter_ = {};
}

// Waits for the reports, because a client that already knows the end of a dependent command must find this event
// ended, too, and another thread may still be reporting that.
void EventWaiters::report_asked(std::uint64_t collected) {
  report();
  MutexLock lock(mutex_);
  while (reported_ < collected && reporter_ != std::this_thread::get_id()) reported_some_.wait(mutex_);
}

}  // namespace remotecl::server
