#include "server/completion/event_waiters.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "server/completion/event_poller.h"
#include "server/completion/event_status.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

template <class T>
T event_value(cl_event event, cl_event_info name) {
  T value{};
  clGetEventInfo(event, name, sizeof value, &value, nullptr);
  return value;
}

// Who else ends no sooner than an event: that of an in-order queue.
void* queue_or_event(cl_event event) {
  const auto queue = event_value<cl_command_queue>(event, CL_EVENT_COMMAND_QUEUE);
  cl_command_queue_properties properties = 0;
  if (queue == nullptr ||
      clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr) != CL_SUCCESS) {
    return event;
  }
  return (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0 ? static_cast<void*>(event) : queue;
}

// Of what is in no order, beside the lane of what is.
void* lane_of(cl_event event, const void* order) {
  void* const key = queue_or_event(event);
  return order != nullptr ? key : static_cast<char*>(key) + 1;
}

}  // namespace

EventWaiters& EventWaiters::instance() {
  static EventWaiters& waiters = *new EventWaiters;  // never destroyed: its threads are not joined
  return waiters;
}

void EventWaiters::add(cl_context context) {
  MutexLock lock(mutex_);
  contexts_.insert(context);
  needed_.store(true, std::memory_order_relaxed);
}

bool EventWaiters::wait(cl_event event, const void* order, Function& function, bool may_wait) {
  if (!needed_.load(std::memory_order_relaxed)) return false;
  const auto context = event_value<cl_context>(event, CL_EVENT_CONTEXT);
  const cl_int status = execution_status(event);
  void* const key = lane_of(event, order);
  Place place;
  bool is_older_told = false;
  {
    MutexLock lock(mutex_);
    if (!contexts_.contains(context)) return false;
    const bool is_new = !lanes_.contains(key);
    place = {order, ++jobs_};
    is_older_told = !is_older_untold(place);
    // What has ended behind others of its queue is told after them.
    if (!is_new || status > CL_COMPLETE || (!is_older_told && (EventPoller::is_telling() || !may_wait))) {
      if (is_new && !has_thread_for_one_more()) return false;
      push(key, {Native<cl_event>::retained(event), place, std::move(function)});
      if (!is_new) return true;
      if (EventPoller* const poller = EventPoller::current(); poller != nullptr && order != nullptr) {
        poller->add(key);
      } else {
        make_ready(key);
      }
      return true;
    }
  }
  if (!is_older_told) {
    // Whoever asks after he was told of what waited for it must find it ended: the thread that tells of that may have
    // done so, and not have come to say that it has.
    EventPoller::leave_all();
    MutexLock lock(mutex_);
    wait_for_older(place);
  }
  function(status);
  return true;
}

void EventWaiters::push(void* key, Job job) {
  Lane& lane = lanes_[key];
  if (lane.empty() && job.place.first != nullptr) firsts_.emplace(job.place, job.event.get());
  lane.push_back(std::move(job));
}

bool EventWaiters::has_thread_for_one_more() {
  if (threads_ > lanes_.size()) return true;
  if (threads_ >= kThreadsMax) return false;
  try {
    std::thread([this] { run(); }).detach();
  } catch (const std::system_error& error) {
    log_warning("no thread to wait for events: {}", error.what());
    return false;
  }
  ++threads_;
  return true;
}

void EventWaiters::make_ready(void* key) {
  ready_.push_back(key);
  wake_.notify_one();
}

void EventWaiters::take_over(const std::vector<void*>& keys) {
  MutexLock lock(mutex_);
  for (void* const key : keys) make_ready(key);
}

bool EventWaiters::look(void* key) {
  Function function;
  cl_int status = CL_COMPLETE;
  {
    MutexLock lock(mutex_);
    Job& job = lanes_.find(key)->second.front();
    status = execution_status(job.event.get());
    if (status > CL_COMPLETE || is_older_untold(job.place)) return true;
    function = std::move(job.function);
  }
  function(status);
  return pop(key);
}

void EventWaiters::run() {
  for (;;) {
    void* key = nullptr;
    {
      MutexLock lock(mutex_);
      while (ready_.empty()) wake_.wait(mutex_);
      key = ready_.front();
      ready_.pop_front();
    }
    run(key);
  }
}

void EventWaiters::run(void* key) {
  for (;;) {
    cl_event event = nullptr;
    {
      MutexLock lock(mutex_);
      event = lanes_.find(key)->second.front().event.get();
    }
    const cl_int error = clWaitForEvents(1, &event);
    const cl_int status = execution_status(event);
    Function function;
    {
      MutexLock lock(mutex_);
      Job& job = lanes_.find(key)->second.front();
      wait_for_older(job.place);
      function = std::move(job.function);
    }
    function(status < 0 ? status : error == CL_SUCCESS ? CL_COMPLETE : error);
    if (!pop(key)) return;
  }
}

bool EventWaiters::pop(void* key) {
  Native<cl_event> event;  // given back without the lock
  bool goes_on = false;
  {
    MutexLock lock(mutex_);
    const auto lane = lanes_.find(key);
    Lane& jobs = lane->second;
    event = std::move(jobs.front().event);
    const Place place = jobs.front().place;
    firsts_.erase(place);
    jobs.pop_front();
    goes_on = !jobs.empty();
    if (!goes_on) {
      lanes_.erase(lane);
    } else if (place.first != nullptr) {
      firsts_.emplace(jobs.front().place, jobs.front().event.get());
    }
    const auto oldest = behind_.lower_bound({place.first, 0});
    if (oldest != behind_.end() && oldest->first.first == place.first) oldest->second->notify_one();
  }
  return goes_on;
}

// Whether an event that this one may have waited for has ended, and its thread has not come to say so.
bool EventWaiters::is_older_untold(const Place& place) {
  return std::any_of(firsts_.lower_bound({place.first, 0}), firsts_.lower_bound(place),
                     [](const auto& first) { return execution_status(first.second) <= CL_COMPLETE; });
}

void EventWaiters::wait_for_older(const Place& place) {
  if (!is_older_untold(place)) return;
  ConditionVariable told;
  behind_.emplace(place, &told);
  while (is_older_untold(place)) told.wait(mutex_);
  behind_.erase(place);
}

}  // namespace remotecl::server
