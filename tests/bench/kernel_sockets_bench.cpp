// Sockets of kernels on a native driver, without a daemon: a kernel and a program, and two kernels, beside two programs
// in the same run.
//
//   OCL_ICD_FILENAMES=libnvidia-opencl.so.1 remotecl-kernel-sockets-bench --selftest
//
// prints the device first, then whether bytes arrive as they were sent, then latency, bandwidth and requests a second.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "extras/kernel_sockets/space/host_sockets.h"
#include "extras/kernel_sockets/space/kernel_socket_space.h"
#include "kernel_sides.h"
#include "measure.h"
#include "program_sides.h"

namespace remotecl::bench {
namespace {

using server::KernelSocketSpace;

// One line of figures, or the reason why there are none.
void report(const char* what, const Work& work, const std::function<void()>& measure) {
  std::printf("%-22s %8zu B %4zu connections: ", what, work.size, work.connections);
  std::fflush(stdout);
  try {
    measure();
  } catch (const std::exception& error) {
    std::printf("FAILED: %s\n", error.what());
  }
  std::fflush(stdout);
}

void bandwidth(KernelSides& kernel, const Options& options, Mode mode, std::size_t size, std::size_t connections) {
  const std::size_t bytes = std::min(options.megabytes << 20, options.messages * size);
  const Work work{mode, size, connections, std::max<std::size_t>(1, bytes / size / connections)};
  report(mode == kSend ? "kernel to program" : "program to kernel", work, [&] {
    const Client client = [&](auto& sockets) {
      return mode == kSend ? receive_messages(sockets, work) : send_messages(sockets, work);
    };
    const double total = static_cast<double>(work.size * work.messages * work.connections) / 1e6;
    const double own = total / kernel.serve_program(work, client), programs = total / run_program(work, client);
    std::printf("%9.1f MB/s, programs %9.1f MB/s, %5.1f %%\n", own, programs, 100 * own / programs);
  });
}

const char* name_of(Meeting meeting) { return meeting == Meeting::kTcp ? "kernels, TCP" : "kernels, rcl:"; }

void bandwidth_of_kernels(KernelSides& kernels, const Options& options, Meeting meeting, std::size_t size,
                          std::size_t connections) {
  const std::size_t bytes = std::min(options.megabytes << 20, options.messages * size);
  const Work work{kReceive, size, connections, std::max<std::size_t>(1, bytes / size / connections)};
  report(name_of(meeting), work, [&] {
    const double total = static_cast<double>(work.size * work.messages * work.connections) / 1e6;
    const double own = total / kernels.serve_kernel(work, meeting);
    const double programs = total / run_program(work, [&](auto& sockets) { return send_messages(sockets, work); });
    std::printf("%9.1f MB/s, programs %9.1f MB/s, %5.1f %%\n", own, programs, 100 * own / programs);
  });
}

// Kernels have no clock that is fine enough, so this is the mean.
void latency_of_kernels(KernelSides& kernels, Meeting meeting, const Work& work) {
  report(name_of(meeting), work, [&] {
    std::vector<std::vector<double>> samples;
    const auto each = [&](double seconds) { return seconds * 1e6 / static_cast<double>(work.messages); };
    const double own = each(kernels.serve_kernel(work, meeting));
    const double programs = each(run_program(work, [&](auto& sockets) { return ping(sockets, work, samples); }));
    std::printf("echo, mean %7.2f us; programs %7.2f us\n", own, programs);
  });
}

void measure_kernels(KernelSides& kernels, const Options& options) {
  for (const Meeting meeting : {Meeting::kTcp, Meeting::kName}) {
    latency_of_kernels(kernels, meeting, {kEcho, 64, 1, options.rounds});
    if (options.no_bandwidth) continue;
    for (const std::size_t connections : options.connections) {
      for (const std::size_t size : options.sizes) bandwidth_of_kernels(kernels, options, meeting, size, connections);
    }
  }
}

void latency(KernelSides& kernel, const char* what, const Work& work) {
  report(what, work, [&] {
    std::vector<std::vector<double>> samples;
    const Client client = [&](auto& sockets) { return ping(sockets, work, samples); };
    const auto line = [&](const char* who, double seconds) {
      std::vector<double> all;
      for (const auto& some : samples) all.insert(all.end(), some.begin() + some.size() / 10, some.end());
      const Summary summary = summarize(all);
      std::printf("%s p50 %7.2f us, p99 %8.2f us, %9.0f a second; ", who, summary.median * 1e6, summary.p99 * 1e6,
                  static_cast<double>(work.messages * work.connections) / seconds);
    };
    line("kernel", kernel.serve_program(work, client));
    line("programs", run_program(work, client));
    std::printf("\n");
  });
}

void measure_programs(KernelSides& kernel, const Options& options) {
  latency(kernel, "echo", {kEcho, 64, 1, options.rounds});
  latency(kernel, "requests", {kEcho, 1024, 64, std::max<std::size_t>(1, options.rounds / 16)});
  if (options.no_bandwidth) return;
  for (const Mode mode : {kSend, kReceive}) {
    for (const std::size_t connections : options.connections) {
      for (const std::size_t size : options.sizes) bandwidth(kernel, options, mode, size, connections);
    }
  }
}

bool selftest(KernelSides& kernel, const Options& options) {
  bool works = true;
  for (const std::size_t connections : {1u, 4u, 32u}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{64}, std::size_t{1000}, std::size_t{4097},
                                   std::size_t{65536}, 2 * options.ring + 3}) {
      std::vector<std::vector<double>> samples;
      const Work work{kEcho, size, connections, 20};
      try {
        kernel.serve_program(work, [&](auto& sockets) { return ping(sockets, work, samples); });
      } catch (const std::exception& error) {
        works = false;
        std::printf("selftest: %zu B, %zu connections: FAILED: %s\n", size, connections, error.what());
      }
    }
  }
  std::printf("selftest: %s\n", works ? "all bytes came back as they were sent" : "FAILED");
  return works;
}

int run(const Options& given) {
  Options options = given;
  server::NativeDriver driver("all");
  server::Device* const device = driver.device(static_cast<std::uint32_t>(options.device));
  if (device == nullptr) throw std::runtime_error("there is no such device");
  const bool works = KernelSocketSpace::works_on(*device);
  cl_uint units = 1;
  clGetDeviceInfo(device->id(), CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
  options.units = units;
  if (options.groups == 0) options.groups = device->traits().is_processor ? units : 4 * units;
  if (device->traits().is_processor) options.items = std::min<std::size_t>(options.items, 8);
  std::printf("device: %s, %u compute units; memory: %s; %zu groups of %zu items at most, rings of %zu bytes\n",
              device->traits().name.c_str(), units,
              !works                                ? "none that a running kernel and the host both see"
              : device->memory().uses_host_memory() ? "host memory in place"
                                                    : "clCreateBufferNV on the host",
              options.groups, options.items, options.ring);
  std::fflush(stdout);
  if (!works) return 1;
  KernelSides kernel(*device, options);
  if (options.selftest || options.only_selftest) {
    if (!selftest(kernel, options)) return 1;
    if (options.only_selftest) return 0;
  }
  if (!options.only_kernels) measure_programs(kernel, options);
  if (!options.only_programs) measure_kernels(kernel, options);
  return 0;
}

}  // namespace
}  // namespace remotecl::bench

int main(int argc, char** argv) {
  remotecl::bench::Options options;
  CLI::App app("Sockets of kernels on a native driver");
  app.add_option("--device", options.device, "index of the device");
  app.add_option("--sizes", options.sizes, "of messages, in bytes")->delimiter(',');
  app.add_option("--connections", options.connections, "numbers of connections")->delimiter(',');
  app.add_option("--items", options.items, "of a work-group; at most 8 on a CPU");
  app.add_option("--groups", options.groups, "at most; the default is 4 for each compute unit, on a CPU 1");
  app.add_option("--ring", options.ring, "bytes of a ring, a power of two");
  app.add_option("--threads", options.threads, "of a network, at most; the default is as many as there are cores");
  app.add_flag("--fixed-threads", options.fixed_threads, "as many at all times, in place of one until it is busy");
  app.add_option("--megabytes", options.megabytes, "moved for a figure of bandwidth, at most");
  app.add_option("--messages", options.messages, "moved for a figure of bandwidth, at most");
  app.add_option("--rounds", options.rounds, "of the echo");
  app.add_option("--build", options.build, "options for the driver's compiler, such as -DRCL_I_OLD_GPU");
  app.add_flag("--selftest", options.selftest, "check first that bytes come back as they were sent");
  app.add_flag("--only-selftest", options.only_selftest, "check that and nothing else");
  app.add_flag("--no-bandwidth", options.no_bandwidth, "only latency and requests a second");
  app.add_flag("--only-kernels", options.only_kernels, "only between two kernels of this device");
  app.add_flag("--only-programs", options.only_programs, "only between kernels and programs");
  CLI11_PARSE(app, argc, argv);
  try {
    return remotecl::bench::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
