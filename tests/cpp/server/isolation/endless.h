#pragma once

#include <algorithm>
#include <chrono>

#include "server/fixture.h"

namespace remotecl::testing {

// A session whose kernels run for as long as somebody likes: for ever, or so many rounds.
struct EndlessWork {
  explicit EndlessWork(const Address& address) : client(address) {
    program = client.id();
    client.build(program, R"(
kernel void endless(global int* data) {
  volatile global int* cell = data;
  while (*cell == 0) {}
}
kernel void rounds(global int* data, long count) {
  volatile global int* cell = data;
  for (long i = 0; i < count; ++i) *cell = *cell + 1;
}
)");
    queue = client.make_queue();
    buffer = client.make_buffer(64);
    client.write<int>(queue, buffer, std::vector<int>(16, 0));
    client.finish(queue);
  }
  void run_endless() {
    const KernelArgument arguments[] = {memory_argument(0, buffer)};
    client.enqueue(queue, client.make_kernel(program, "endless"), 1, arguments);
    client.flush();
    client.ping();
  }
  void run_rounds(std::int64_t count) {
    if (rounds == 0) rounds = client.make_kernel(program, "rounds");
    const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, count)};
    client.enqueue(queue, rounds, 1, arguments);
    client.flush();
  }
  // So many rounds take about a second here, while nobody else uses the processor.
  std::int64_t rounds_of_a_second() {
    constexpr std::int64_t kSome = 20'000'000;
    run_rounds(1);  // the driver compiles it now
    client.finish(queue);
    std::chrono::duration<double> best = std::chrono::hours(1);
    for (int i = 0; i < 5; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      run_rounds(kSome);
      client.finish(queue);
      best = std::min<std::chrono::duration<double>>(best, std::chrono::steady_clock::now() - begin);
    }
    return static_cast<std::int64_t>(static_cast<double>(kSome) / best.count());
  }

  WireClient client;
  ObjectId program = 0, queue = 0, buffer = 0, rounds = 0;
};

}  // namespace remotecl::testing
