// What several programs reach together on one device, each a process: launches of empty kernels a second, and how long
// a no-op takes beside them. Plain OpenCL, for native drivers too.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "measure.h"
#include "opencl_side.h"
#include "run_bench.h"

namespace remotecl::bench {
namespace {

constexpr int kBatch = 1000;  // launches between two looks at the clock
constexpr std::chrono::milliseconds kPause{5};

struct Choice {
  std::string platform = "remotecl";
  size_t device = 0;
  int floods = 4;
  double seconds = 3;
  int finish_every = 10;  // batches
  bool has_probe = true;
};

// What a process has measured, as it goes through a pipe.
struct Report {
  double launches = 0;         // a second
  double median = 0, p99 = 0;  // of a no-op and its clFinish, in seconds
};

// Launches until the time is over.
Report flood(const ClSide& side, const Choice& choice) {
  const Stopwatch watch;
  double launches = 0;
  for (int batches = 1; watch.seconds() < choice.seconds; ++batches) {
    for (int i = 0; i < kBatch; ++i) ClSide::enqueue(side.queue(), side.no_op());
    launches += kBatch;
    if (batches % choice.finish_every == 0) ClSide::finish(side.queue());
  }
  ClSide::finish(side.queue());
  return {.launches = launches / watch.seconds()};
}

// Looks again and again how long a no-op takes.
Report probe(const ClSide& side, const Choice& choice) {
  std::vector<double> times;
  const Stopwatch all;
  while (all.seconds() < choice.seconds) {
    const Stopwatch one;
    ClSide::enqueue(side.queue(), side.no_op());
    ClSide::finish(side.queue());
    times.push_back(one.seconds());
    std::this_thread::sleep_for(kPause);
  }
  std::sort(times.begin(), times.end());
  return {.median = times[times.size() / 2], .p99 = times[times.size() * 99 / 100]};
}

// A process that measures when it is told to. Made before this process uses OpenCL.
class Client {
 public:
  template <class Measure>
  Client(const Choice& choice, Measure measure) {
    int go[2], result[2];
    if (::pipe(go) != 0 || ::pipe(result) != 0) throw ClError("no pipes are left");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(go[1]);
      ::_exit(run(choice, measure, go[0], result[1]));
    }
    ::close(go[0]);
    ::close(result[1]);
    go_ = go[1];
    result_ = result[0];
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    ::close(go_);
    ::close(result_);
    ::waitpid(pid_, nullptr, 0);
  }

  void await_ready() const { read<char>(); }
  void start() const {
    if (::write(go_, "g", 1) != 1) throw ClError("a program has ended");
  }
  Report report() const { return read<Report>(); }

 private:
  template <class Measure>
  static int run(const Choice& choice, Measure measure, int go, int result) {
    try {
      const ClSide side(find_device(choice.platform, choice.device));
      ClSide::enqueue(side.queue(), side.no_op());
      ClSide::finish(side.queue());
      char byte = 'r';
      if (::write(result, &byte, 1) != 1 || ::read(go, &byte, 1) != 1) return 1;
      const Report report = measure(side, choice);
      return ::write(result, &report, sizeof report) == sizeof report ? 0 : 1;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "remotecl-clients-bench: %s\n", error.what());
      return 1;
    }
  }
  template <class Value>
  Value read() const {
    Value value;
    if (::read(result_, &value, sizeof value) != sizeof value) throw ClError("a program has ended without a result");
    return value;
  }

  pid_t pid_ = -1;
  int go_ = -1, result_ = -1;
};

int run(int argc, char** argv) {
  CLI::App app{"Measures what several programs reach together on one device."};
  Choice choice;
  app.add_option("--platform", choice.platform, "A platform's name")->capture_default_str();
  app.add_option("--device", choice.device, "Index of its device")->capture_default_str();
  app.add_option("--floods", choice.floods, "How many programs launch kernels all the time")->capture_default_str();
  app.add_option("--seconds", choice.seconds, "How long they do")->capture_default_str();
  app.add_option("--finish-every", choice.finish_every, "After how many thousand launches each waits")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--probe,!--no-probe", choice.has_probe, "One more program that runs a no-op now and then");
  CLI11_PARSE(app, argc, argv);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < choice.floods; ++i) clients.push_back(std::make_unique<Client>(choice, flood));
  if (choice.has_probe) clients.push_back(std::make_unique<Client>(choice, probe));
  for (const auto& client : clients) client->await_ready();
  for (const auto& client : clients) client->start();
  std::vector<double> launches;
  for (int i = 0; i < choice.floods; ++i) launches.push_back(clients[static_cast<size_t>(i)]->report().launches);
  std::sort(launches.begin(), launches.end());
  double sum = 0;
  for (const double each : launches) sum += each;
  std::printf("%s: %d floods", choice.platform.c_str(), choice.floods);
  if (!launches.empty()) {
    std::printf(", %.0f launches/s together, least to most %.2f", sum, launches.front() / launches.back());
  }
  if (choice.has_probe) {
    const Report found = clients.back()->report();
    std::printf(", a no-op beside them %.0f us, p99 %.0f us", found.median * 1e6, found.p99 * 1e6);
  }
  std::printf("\n");
  return 0;
}

}  // namespace
}  // namespace remotecl::bench

int main(int argc, char** argv) {
  return remotecl::bench::run_bench("remotecl-clients-bench", remotecl::bench::run, argc, argv);
}
