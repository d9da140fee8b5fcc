#include "server/event_waiters.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "server/log.h"

namespace remotecl::server {
namespace {

template <class T>
T event_value(cl_event event, cl_event_info name) {
  T value{};
  clGetEventInfo(event, name, sizeof value, &value, nullptr);
  return value;
}

// Who else ends no sooner than an event: that of an in-order queue.
void* lane_of(cl_event event) {
  const auto queue = event_value<cl_command_queue>(event, CL_EVENT_COMMAND_QUEUE);
  cl_command_queue_properties properties = 0;
  if (queue == nullptr ||
      clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr) != CL_SUCCESS) {
    return event;
  }
  return (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0 ? static_cast<void*>(event) : queue;
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

bool EventWaiters::wait(cl_event event, Function& function) {
  if (!needed_.load(std::memory_order_relaxed)) return false;
  const auto context = event_value<cl_context>(event, CL_EVENT_CONTEXT);
  const auto status = event_value<cl_int>(event, CL_EVENT_COMMAND_EXECUTION_STATUS);
  void* const key = lane_of(event);
  {
    MutexLock lock(mutex_);
    if (!contexts_.contains(context)) return false;
    const bool is_new = !lanes_.contains(key);
    // What has ended behind others of its queue is told after them.
    const bool told_at_once = is_new && status <= CL_COMPLETE;
    if (!told_at_once) {
      if (is_new && idle_ <= ready_.size()) {
        if (threads_ >= kThreadsMax) return false;
        try {
          std::thread([this] { run(); }).detach();
        } catch (const std::system_error& error) {
          spdlog::warn("no thread to wait for events: {}", error.what());
          return false;
        }
        ++threads_;
      }
      clRetainEvent(event);
      lanes_[key].push_back({event, ++jobs_, std::move(function)});
      if (is_new) {
        ready_.push_back(key);
        wake_.notify_one();
      }
      return true;
    }
  }
  function(status);
  return true;
}

void EventWaiters::run() {
  for (;;) {
    void* key = nullptr;
    {
      MutexLock lock(mutex_);
      ++idle_;
      while (ready_.empty()) wake_.wait(mutex_);
      --idle_;
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
      event = lanes_.find(key)->second.front().event;
    }
    const cl_int error = clWaitForEvents(1, &event);
    const auto status = event_value<cl_int>(event, CL_EVENT_COMMAND_EXECUTION_STATUS);
    Function function;
    {
      MutexLock lock(mutex_);
      Job& job = lanes_.find(key)->second.front();
      while (is_older_untold(job.number)) told_.wait(mutex_);
      function = std::move(job.function);
    }
    function(status < 0 ? status : error == CL_SUCCESS ? CL_COMPLETE : error);
    bool was_last = false;
    {
      MutexLock lock(mutex_);
      const auto lane = lanes_.find(key);
      lane->second.pop_front();
      was_last = lane->second.empty();
      if (was_last) lanes_.erase(lane);
      told_.notify_all();
    }
    clReleaseEvent(event);
    if (was_last) return;
  }
}

// Whether an event that this one may have waited for has ended, and its thread has not come to say so.
bool EventWaiters::is_older_untold(std::uint64_t number) {
  return std::any_of(lanes_.begin(), lanes_.end(), [number](const auto& entry) {
    const Job& job = entry.second.front();
    return job.number < number && event_value<cl_int>(job.event, CL_EVENT_COMMAND_EXECUTION_STATUS) <= CL_COMPLETE;
  });
}

}  // namespace remotecl::server
