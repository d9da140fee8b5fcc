// What the delay of a network costs: the same work through relays that delay every byte. Pipelined work should take one
// round trip more in all, a loop that blocks one round trip more for each turn.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "fakes/wire/fault_relay.h"
#include "measure.h"
#include "opencl_side.h"
#include "run_bench.h"

namespace remotecl::bench {
namespace {

constexpr int kPipelined = 2000;
constexpr size_t kBulk = 16u << 20;

struct Times {
  double blocking_turn = 0, write_kernel_read = 0, pipelined = 0, chained = 0, bulk_write = 0, bulk_read = 0;
};

template <class Work>
double median_of(int repetitions, Work&& work) {
  std::vector<double> samples;
  for (int i = 0; i < repetitions; ++i) {
    const Stopwatch watch;
    work();
    samples.push_back(watch.seconds());
  }
  return summarize(std::move(samples)).median;
}

Times measure() {
  const ClSide side(find_device("remotecl", 0));
  cl_command_queue queue = side.queue();
  const Memory in = side.make_buffer(sizeof(cl_int)), out = side.make_buffer(sizeof(cl_int)),
               bulk = side.make_buffer(kBulk);
  std::vector<char> data(kBulk, 1);
  cl_int value = 1;
  cl_mem arguments[] = {in.get(), out.get()};
  for (cl_uint i = 0; i < 2; ++i)
    check(clSetKernelArg(side.passthrough(), i, sizeof(cl_mem), &arguments[i]), "clSetKernelArg");
  const auto triple = [&] {
    ClSide::write(queue, in, &value, sizeof value, CL_FALSE);
    ClSide::enqueue(queue, side.passthrough());
    cl_int received = 0;
    ClSide::read(queue, out, &received, sizeof received);
    if (received != value++) throw std::runtime_error("wrong data");
  };
  triple();
  Times times;
  times.blocking_turn = median_of(20, [&] {
    ClSide::enqueue(queue, side.no_op());
    ClSide::finish(queue);
  });
  times.write_kernel_read = median_of(20, triple);
  times.pipelined = median_of(5, [&] {
    for (int i = 0; i < kPipelined; ++i) ClSide::enqueue(queue, side.no_op());
    ClSide::finish(queue);
  });
  times.chained = median_of(5, [&] {
    Event previous;
    for (int i = 0; i < kPipelined; ++i) {
      cl_event wait = previous.get(), next = nullptr;
      ClSide::enqueue(queue, side.no_op(), wait ? 1 : 0, wait ? &wait : nullptr, &next);
      previous.reset(next);
    }
    cl_event last = previous.get();
    check(clWaitForEvents(1, &last), "clWaitForEvents");
  });
  times.bulk_write = median_of(5, [&] {
    ClSide::write(queue, bulk, data.data(), kBulk, CL_FALSE);
    ClSide::finish(queue);
  });
  times.bulk_read = median_of(5, [&] { ClSide::read(queue, bulk, data.data(), kBulk); });
  return times;
}

void print_row(const std::string& round_trip) {
  const Times times = measure();
  std::printf("%10s  %13.3f  %17.3f  %14.2f  %12.2f  %11.2f  %10.2f\n", round_trip.c_str(), times.blocking_turn * 1e3,
              times.write_kernel_read * 1e3, times.pipelined * 1e3, times.chained * 1e3, times.bulk_write * 1e3,
              times.bulk_read * 1e3);
  std::fflush(stdout);
}

// A program reads REMOTECL_SERVERS once: each delay has one of its own.
void run_row(const std::string& server, const std::string& round_trip) {
  setenv("REMOTECL_SERVERS", server.c_str(), 1);
  setenv("REMOTECL_SHARED_MEMORY", "off", 1);
  std::string arguments[] = {"remotecl-delay-bench", "--row", round_trip};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  pid_t child = -1;
  const int error = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv, environ);
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start a client");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw std::runtime_error("a client failed");
}

int run(int argc, char** argv) {
  CLI::App app{"Measures how remotecl behaves over a network's delay. Times in ms."};
  std::string server, row;
  std::vector<double> round_trips_ms{0.1, 1, 10, 50};
  app.add_option("server", server, "The server, numeric")->type_name("HOST:PORT");
  app.add_option("--round-trips", round_trips_ms, "Delays of both directions together, in ms")->delimiter(',');
  app.add_option("--row", row)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  if (!row.empty()) {
    print_row(row);
    return 0;
  }
  if (server.empty()) throw std::invalid_argument("which server? HOST:PORT");
  std::printf("round trip  no-op, finish  write-kernel-read  %d pipelined  %d chained  16 MiB write  16 MiB read\n",
              kPipelined, kPipelined);
  std::fflush(stdout);
  run_row(server, "none");
  for (const double round_trip : round_trips_ms) {
    const std::chrono::microseconds line(static_cast<long>(round_trip * 500));
    const testing::FaultRelay relay(server, {.delay_max = {}, .line_delay = line});
    char name[32];
    std::snprintf(name, sizeof name, "%g", round_trip);
    run_row(relay.address(), name);
  }
  return 0;
}

}  // namespace
}  // namespace remotecl::bench

int main(int argc, char** argv) {
  return remotecl::bench::run_bench("remotecl-delay-bench", remotecl::bench::run, argc, argv);
}
