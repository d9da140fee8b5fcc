#include "server/failing_threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>

namespace remotecl::testing {

std::atomic<int> threads_started{0};
std::atomic<int> failing_thread{-1};

}  // namespace remotecl::testing

#pragma GCC visibility push(default)
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
  static auto* const call = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  int number = remotecl::testing::threads_started++;
  if (remotecl::testing::failing_thread.compare_exchange_strong(number, -1)) return EAGAIN;
  return call(thread, attributes, function, argument);
}
#pragma GCC visibility pop
