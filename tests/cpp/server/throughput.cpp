// How fast one session takes commands: remotecl_server_throughput HOST:PORT [commands]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "fakes/wire/wire_client.h"

namespace {

using namespace remotecl;
using namespace remotecl::testing;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Pipelined kernels; the queue is finished once at the end.
void kernels(WireClient& client, const char* name, ObjectId kernel, std::uint64_t properties, int count, int mode) {
  const ObjectId queue = client.make_queue(properties);
  client.enqueue(queue, kernel, 1, {});
  client.finish(queue);
  const auto start = Clock::now();
  EventId last = 0;
  for (int i = 0; i < count; ++i) {
    const EventId event = mode == 0 ? 0 : client.id();
    client.enqueue(queue, kernel, 1, {}, event,
                   mode == 2 && last != 0 ? std::span<const EventId>(&last, 1) : std::span<const EventId>{});
    if (mode == 2 && last != 0) client.add(ReleaseEvent{last});
    last = event;
    if (i % 256 == 255) client.flush();
  }
  client.finish(queue);
  std::printf("%-34s %8.0f per s\n", name, count / seconds_since(start));
  client.add(ReleaseQueue{queue});
}

template <class F>
void latency(const char* name, int count, F&& f) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    f();
    times.push_back(seconds_since(start) * 1e6);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-34s median %7.1f us, p99 %7.1f us, max %8.1f us\n", name, times[times.size() / 2],
              times[times.size() * 99 / 100], times.back());
}

void bulk(WireClient& client, ObjectId queue, std::size_t size) {
  const ObjectId buffer = client.make_buffer(size);
  std::vector<std::byte> data(size, std::byte{1});
  for (int round = 0; round < 4; ++round) {
    auto start = Clock::now();
    TransferId transfer = client.id();
    EventId event = client.id();
    client.send(EnqueueWrite{queue, event, buffer, 0, size, transfer, {}, {}});
    client.wait<PullTransfer>();
    client.send_bulk(transfer, data);
    client.event_status(event);
    const double write = seconds_since(start);
    start = Clock::now();
    transfer = client.id();
    event = client.id();
    client.send(EnqueueRead{queue, event, buffer, 0, size, transfer, {}});
    client.receive_bulk_to(transfer, data);
    client.event_status(event);
    const double read = seconds_since(start);
    std::printf("bulk %4zu MiB                      write %6.2f GB/s, read %6.2f GB/s\n", size >> 20,
                size / write / 1e9, size / read / 1e9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc < 2) return 2;
  const int count = argc > 2 ? std::stoi(argv[2]) : 100000;
  WireClient client(parse_address(argv[1], kDefaultPort));
  const ObjectId program = client.id();
  client.build(program, "kernel void nothing() {}");
  const ObjectId kernel = client.make_kernel(program, "nothing");
  for (int round = 0; round < 2; ++round) {
    kernels(client, "kernels, in order", kernel, 0, count, 0);
    kernels(client, "kernels, in order, event each", kernel, 0, count, 1);
    kernels(client, "kernels, in order, event chain", kernel, 0, count, 2);
    kernels(client, "kernels, out of order", kernel, 1, count, 0);
    kernels(client, "kernels, out of order, event chain", kernel, 1, count, 2);
  }
  const ObjectId queue = client.make_queue();
  const ObjectId buffer = client.make_buffer(4096);
  const std::vector<int> values(1024, 7);
  client.write<int>(queue, buffer, values);
  client.finish(queue);
  latency("ping", 2000, [&] { client.ping(); });
  latency("kernel + finish", 2000, [&] {
    client.enqueue(queue, kernel, 1, {});
    client.finish(queue);
  });
  latency("finish of an empty queue", 2000, [&] { client.finish(queue); });
  latency("write 4 B, kernel, read 4 B", 2000, [&] {
    client.write<int>(queue, buffer, std::span(values).first(1));
    client.enqueue(queue, kernel, 1, {});
    client.read<int>(queue, buffer, 1);
  });
  latency("write 4 KiB, read 4 KiB", 2000, [&] {
    client.write<int>(queue, buffer, values);
    client.read<int>(queue, buffer, 1024);
  });
  client.bulk();
  bulk(client, queue, 64u << 20);
  return 0;
}
