#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "measure.h"
#include "opencl_objects.h"
#include "own_functions.h"
#include "remotecl/remotecl.h"

namespace remotecl::bench {
namespace {

// Integers, so that every device has the same results. What it computes is undone, so that the fake driver has a kernel
// of the same name that does the same (tests/fakes/README.md) and takes as long as it is told.
constexpr char kSource[] = R"(
kernel void add_mv(global uint* data, int rounds) {
  uint value = data[get_global_id(0)];
  for (int i = 0; i < rounds; i += 2) value = value * 1664525u + 1013904223u;
  for (int i = 0; i < rounds; i += 2) value = (value - 1013904223u) * 4276115653u;
  data[get_global_id(0)] = value + rounds;
}
)";

struct SplitOptions {
  std::string servers;
  size_t items = size_t{1} << 24;
  int rounds = 2000;
  size_t repetitions = 7;
};

std::optional<int> parse(int argc, char** argv, SplitOptions& options) {
  CLI::App app{
      "One kernel on each device of remotecl alone, and divided among all of them (remotecl_enqueue_split).\n"
      "The efficiency is the speed of all, of the sum of their speeds. Results are checked.",
      "remotecl-split-bench"};
  app.add_option("--servers", options.servers, "Servers to use; the default is the environment's REMOTECL_SERVERS");
  app.add_option("--items", options.items, "Work-items, of 4 bytes")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds, "Work in each of them")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions, "Measurements, of which medians are printed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return std::nullopt;
}

std::vector<cl_device_id> remote_devices() {
  for (cl_platform_id platform : all_platforms()) {
    if (platform_name(platform) == "remotecl") return all_devices(platform);
  }
  throw std::invalid_argument("remotecl has no device here: set REMOTECL_SERVERS");
}

// The buffer and the kernel on some devices of one context.
class SplitWork {
 public:
  SplitWork(const std::vector<cl_device_id>& devices, const SplitOptions& options)
      : options_(options),
        context_(
            clCreateContext(nullptr, static_cast<cl_uint>(devices.size()), devices.data(), nullptr, nullptr, nullptr)),
        program_(build_program(context_.get(), devices, kSource)),
        kernel_(make_kernel(program_, "add_mv")),
        buffer_(make_buffer(context_.get(), options.items * sizeof(cl_uint))) {
    for (cl_device_id device : devices) queues_.push_back(make_queue(context_.get(), device, 0));
    const cl_mem buffer = buffer_.get();
    set_argument(kernel_, 0, buffer);
    set_argument(kernel_, 1, options.rounds);
    std::vector<cl_uint> numbers(options.items);
    std::iota(numbers.begin(), numbers.end(), 0u);
    check(clEnqueueWriteBuffer(queues_.front().get(), buffer, CL_TRUE, 0, numbers.size() * sizeof(cl_uint),
                               numbers.data(), 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }

  // Seconds of one run on the queues named by these indices. The data stays where the pieces ran.
  double run(const std::vector<size_t>& on) {
    std::vector<cl_command_queue> queues;
    for (const size_t index : on) queues.push_back(queues_[index].get());
    static auto* const split = own_function<decltype(remotecl_enqueue_split)>("remotecl_enqueue_split");
    const remotecl_slice slice{0, 0, sizeof(cl_uint), 0, 0};
    const Stopwatch watch;
    cl_event end = nullptr;
    check(split(static_cast<cl_uint>(queues.size()), queues.data(), kernel_.get(), 0, 1, nullptr, &options_.items,
                nullptr, 1, &slice, 0, nullptr, &end),
          "remotecl_enqueue_split");
    const Event owner(end);
    check(clWaitForEvents(1, &end), "clWaitForEvents");
    const double seconds = watch.seconds();
    rounds_ += static_cast<size_t>(options_.rounds);
    return seconds;
  }

  // Looks at every thousandth item.
  void verify() {
    std::vector<cl_uint> numbers(options_.items);
    check(clEnqueueReadBuffer(queues_.front().get(), buffer_.get(), CL_TRUE, 0, numbers.size() * sizeof(cl_uint),
                              numbers.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
    for (size_t i = 0; i < numbers.size(); i += 1009) {
      if (numbers[i] != static_cast<std::uint32_t>(i + rounds_)) {
        throw std::runtime_error("item " + std::to_string(i) + " is wrong");
      }
    }
  }

 private:
  const SplitOptions& options_;
  Context context_;
  Program program_;
  Kernel kernel_;
  Memory buffer_;
  std::vector<Queue> queues_;
  size_t rounds_ = 0;  // of all runs
};

void measure(const SplitOptions& options) {
  const std::vector<cl_device_id> devices = remote_devices();
  SplitWork work(devices, options);
  std::vector<size_t> all(devices.size());
  std::iota(all.begin(), all.end(), size_t{0});
  // Everybody takes turns, so that a drift of the machine hits all. The first turn warms up.
  std::vector<std::vector<double>> alone(devices.size());
  std::vector<double> together;
  for (size_t turn = 0; turn <= options.repetitions; ++turn) {
    for (size_t at = 0; at < devices.size(); ++at) {
      work.run({at});  // the data comes here
      const double seconds = work.run({at});
      if (turn > 0) alone[at].push_back(seconds);
    }
    work.run(all);
    const double seconds = work.run(all);
    if (turn > 0) together.push_back(seconds);
  }
  work.verify();

  const auto speed = [&](std::vector<double>& times) {
    return static_cast<double>(options.items) * options.rounds / summarize(times).median * 1e-9;
  };
  double sum = 0;
  for (size_t at = 0; at < devices.size(); ++at) {
    const double own = speed(alone[at]);
    sum += own;
    std::printf("%-60.60s %10.4g G rounds/s\n", device_string(devices[at], CL_DEVICE_NAME).c_str(), own);
  }
  const double reached = speed(together);
  std::printf("%-60.60s %10.4g G rounds/s\n", "the sum, which is the ceiling", sum);
  std::printf("%-60.60s %10.4g G rounds/s, efficiency %.3f\n", "all", reached, reached / sum);
}

}  // namespace
}  // namespace remotecl::bench

int main(int argc, char** argv) {
  using namespace remotecl::bench;
  SplitOptions options;
  if (const auto status = parse(argc, argv, options)) return *status;
  if (!options.servers.empty()) setenv("REMOTECL_SERVERS", options.servers.c_str(), 1);
  try {
    measure(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remotecl-split-bench: %s\n", error.what());
    return 1;
  }
}
