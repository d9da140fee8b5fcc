// Threads that carry out what queues hold. Each lives from a flush until its queue is empty.
#include <pthread.h>

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <thread>

#include "fakes/driver/objects.h"

namespace remotecl::fake {
namespace {

using Lock = std::unique_lock<std::recursive_mutex>;

std::condition_variable_any& changed() {
  static auto& condition = *new std::condition_variable_any;  // detached threads outlive what is static
  return condition;
}

int running_kernels = 0;  // guarded by the driver's mutex

bool has_ended(cl_event event) { return event->status <= CL_COMPLETE; }

cl_int wait_for_all(const std::vector<Held<_cl_event>>& events, Lock& lock) {
  cl_int status = CL_COMPLETE;
  for (const auto& event : events) {
    changed().wait(lock, [&event] { return has_ended(event.get()); });
    if (event->status < 0) status = failed_wait_status();
  }
  return status;
}

void run_first(cl_command_queue queue, Lock& lock) {
  Calls calls;
  std::chrono::microseconds callback_delay{0};
  {
    Command command = std::move(queue->commands.front());
    queue->commands.pop_front();
    cl_int status = wait_for_all(command.waits, lock);
    const bool is_in_order = (queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    if (is_in_order && queue->last_status < 0 && chains_failures()) {
      status = failed_wait_status();
    }
    command.event->times[1] = command.event->times[2] = now();
    if (const auto time = kernel_time(command.items); command.items != 0 && status == CL_COMPLETE && time.count() > 0) {
      changed().wait(lock, [] { return running_kernels == 0 || !settings().runs_one_kernel; });
      ++running_kernels;
      lock.unlock();
      std::this_thread::sleep_for(time);
      lock.lock();
      --running_kernels;
    }
    if (status == CL_COMPLETE) status = command.work();
    if (command.items != 0) callback_delay = callback_time();
    queue->last_status = status;
    --queue->unfinished;
    command.has_late_event ? end_late(command.event, status, calls) : end(command.event, status, calls);
  }
  changed().notify_all();
  lock.unlock();
  if (callback_delay.count() == 0) {
    call_back(calls);
  } else {
    std::thread([calls = std::move(calls), callback_delay]() mutable {
      std::this_thread::sleep_for(callback_delay);
      call_back(calls);
    }).detach();
  }
  lock.lock();
}

// `argument`: a reference to the queue.
void* serve(void* argument) {
  Held<_cl_command_queue> queue =
      *std::unique_ptr<Held<_cl_command_queue>>(static_cast<Held<_cl_command_queue>*>(argument));
  Lock lock(driver_mutex());
  while (!queue->commands.empty()) run_first(queue.get(), lock);
  queue->has_thread = false;
  queue = {};
  return nullptr;
}

}  // namespace

void start_thread(cl_command_queue queue) {
  if (queue->has_thread || queue->commands.empty()) return;
  queue->has_thread = true;
  // Not by the C++ library: tests that let the daemon's threads fail see who asks.
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, serve, new Held<_cl_command_queue>(queue)) != 0) std::abort();
  ::pthread_detach(thread);
}

void wait_for(cl_command_queue queue, cl_event until) {
  Lock lock(driver_mutex());
  Held<_cl_command_queue> kept(queue);
  start_thread(queue);
  changed().wait(lock, [=] { return until == nullptr ? queue->unfinished == 0 : has_ended(until); });
  kept = {};
}

void wait_for_kernels() {
  Lock lock(driver_mutex());
  changed().wait(lock, [] { return running_kernels == 0; });
}

void wake_threads() { changed().notify_all(); }

}  // namespace remotecl::fake
