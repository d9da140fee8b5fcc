#include "runtime/base/stoppable_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <new>
#include <semaphore>

namespace remotecl {
namespace {

// Has a thread that sleeps until work() gives it something to do.
class Worker {
 public:
  void begin() {
    const MutexLock lock(thread_.mutex);
    thread_.start();
  }
  // Wakes the thread and waits until it is done.
  void work() {
    {
      const MutexLock lock(thread_.mutex);
      ++posted_;
      thread_.wake();
    }
    done_.acquire();
  }
  void request_stop() { thread_.request_stop(); }
  void stop() { thread_.stop(); }

  // Changed by the thread; read them after stop().
  int begun = 0, ended = 0;

 private:
  void run() {
    ++begun;
    for (;;) {
      {
        const MutexLock lock(thread_.mutex);
        while (!thread_.is_stopping() && posted_ == 0) thread_.wait();
        if (thread_.is_stopping()) break;
        --posted_;
      }
      done_.release();
    }
    ++ended;
  }

  std::counting_semaphore<> done_{0};
  int posted_ GUARDED_BY(thread_.mutex) = 0;
  StoppableThread thread_{[this] { run(); }};
};

// A thread that ends by itself, as one does that has nothing to do.
TEST(StoppableThreadTest, StartsAgainAfterItHasEnded) {
  std::counting_semaphore<> begun{0};
  StoppableThread* self = nullptr;
  StoppableThread thread([&] {
    const MutexLock lock(self->mutex);
    begun.release();
    self->has_ended();
  });
  self = &thread;
  for (int i = 0; i < 3; ++i) {
    {
      const MutexLock lock(thread.mutex);
      thread.start();
    }
    begun.acquire();
  }
  thread.stop();
  const MutexLock lock(thread.mutex);
  thread.start();
  EXPECT_FALSE(begun.try_acquire()) << "stopped for good";
}

TEST(StoppableThreadTest, StartsOnceAndWorksWheneverItIsWoken) {
  Worker worker;
  worker.begin();
  worker.begin();
  for (int i = 0; i < 3; ++i) worker.work();
  worker.stop();
  EXPECT_EQ(worker.begun, 1);
}

TEST(StoppableThreadTest, DoesNotStartAfterStop) {
  Worker worker;
  worker.stop();
  worker.begin();
  worker.stop();
  EXPECT_EQ(worker.begun, 0);
}

TEST(StoppableThreadTest, StopAfterARequestWaitsForTheThread) {
  Worker worker;
  worker.begin();
  worker.work();
  worker.request_stop();
  worker.stop();
  EXPECT_EQ(worker.ended, 1);
  worker.stop();
}

TEST(StoppableThreadTest, DestructionStopsASleepingThread) {
  Worker worker;
  worker.begin();
  worker.work();
}

TEST(StoppableThreadTest, BeginsAgainAfterAnExceptionAndCanBeStopped) {
  std::counting_semaphore<> begun{0};
  StoppableThread thread([&begun] {
    begun.release();
    throw std::bad_alloc();
  });
  {
    const MutexLock lock(thread.mutex);
    thread.start();
  }
  for (int i = 0; i < 3; ++i) begun.acquire();
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
