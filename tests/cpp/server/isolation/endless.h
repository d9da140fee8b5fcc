#pragma once

#include "server/fixture.h"

namespace remotecl::testing {

// A session whose kernel runs for ever. It needs a process of its own, which can be killed.
struct EndlessWork {
  explicit EndlessWork(const Address& address) : client(address) {
    program = client.id();
    client.build(program, R"(
kernel void endless(global int* data) {
  volatile global int* cell = data;
  while (*cell == 0) {}
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

  WireClient client;
  ObjectId program = 0, queue = 0, buffer = 0;
};

}  // namespace remotecl::testing
