#include "runtime/base/stoppable_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <semaphore>

namespace remotecl {
namespace {

// Counts how often its thread has been woken with something to do.
class Counter {
 public:
  void begin() {
    const MutexLock lock(thread_.mutex);
    thread_.start();
  }
  void post() {
    const MutexLock lock(thread_.mutex);
    ++posted_;
    thread_.wake();
  }
  void request_stop() { thread_.request_stop(); }
  void stop() { thread_.stop(); }

  std::counting_semaphore<> done{0};
  int begun = 0;  // changed by the thread; read it after stop()

 private:
  void run() {
    ++begun;
    for (;;) {
      {
        const MutexLock lock(thread_.mutex);
        while (!thread_.is_stopping() && posted_ == 0) thread_.wait();
        if (thread_.is_stopping()) return;
        --posted_;
      }
      done.release();
    }
  }

  int posted_ GUARDED_BY(thread_.mutex) = 0;
  StoppableThread thread_{[this] { run(); }};
};

TEST(StoppableThreadTest, StartsOnceAndWorksWheneverItIsWoken) {
  Counter counter;
  counter.begin();
  counter.begin();
  for (int i = 0; i < 3; ++i) {
    counter.post();
    counter.done.acquire();
  }
  counter.stop();
  EXPECT_EQ(counter.begun, 1);
}

TEST(StoppableThreadTest, DoesNotStartAfterStop) {
  Counter counter;
  counter.stop();
  counter.begin();
  counter.stop();
  EXPECT_EQ(counter.begun, 0);
}

TEST(StoppableThreadTest, StopAfterARequestWaitsForTheThread) {
  Counter counter;
  counter.begin();
  counter.post();
  counter.done.acquire();
  counter.request_stop();
  counter.stop();
  counter.stop();
  EXPECT_EQ(counter.begun, 1);
}

TEST(StoppableThreadTest, DestructionStopsASleepingThread) {
  Counter counter;
  counter.begin();
  counter.post();
  counter.done.acquire();
}

TEST(StoppableThreadTest, AWaitWithATimeEnds) {
  StoppableThread thread([] {});
  const MutexLock lock(thread.mutex);
  while (thread.wait_until(std::chrono::steady_clock::now())) {
  }
  EXPECT_FALSE(thread.is_stopping());
}

}  // namespace
}  // namespace remotecl
