// Sockets of kernels on a native driver, without a daemon: a kernel and a program beside two programs, in the same run.
//
//   OCL_ICD_FILENAMES=libnvidia-opencl.so.1 remotecl-kernel-sockets-bench --selftest
//
// prints the device first, then whether bytes arrive as they were sent, then latency, bandwidth and requests a second.
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#include "kernel_sockets_kernels.h"
#include "measure.h"
#include "server/network/host_sockets.h"
#include "server/network/kernel_run.h"
#include "server/network/open_broker.h"

namespace remotecl::bench {
namespace {

using server::Descriptor;
using server::Network;
using testing::KernelProgram;
using testing::KernelRun;

enum Mode { kEcho = 0, kReceive = 1, kSend = 2 };

struct Options {
  std::size_t device = 0;
  std::vector<std::size_t> sizes{64, 1024, 4096, 16384, 65536, 262144, 1048576};
  std::vector<std::size_t> connections{1, 8, 64, 512};
  std::size_t items = 256, groups = 0, ring = 262144;
  std::uint32_t threads = 0;
  bool fixed_threads = false;
  std::size_t megabytes = 512, messages = 100000, rounds = 20000;
  std::string build;
  bool selftest = false, only_selftest = false, no_bandwidth = false;
};

// What connections are served by: a kernel, or threads of this program.
struct Work {
  Mode mode;
  std::size_t size, connections, messages;  // messages on each connection, where the server sends
};

// Runs a function for each connection, each on a thread, and rethrows what any of them threw. Returns the seconds.
double for_each_connection(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(count);
  const Stopwatch watch;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = watch.seconds();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return seconds;
}

Descriptor connect_soon(std::uint16_t port) {
  for (int tries = 0;; ++tries) {
    try {
      return testing::connect_to(port);
    } catch (const std::system_error&) {
      if (tries > 12000) throw;  // while the driver compiles
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

std::uint16_t free_port() {
  std::uint16_t port = 0;
  const Descriptor socket = testing::listen_on_loopback(port);
  return port;
}

// The part of the program that is measured: it talks to whatever serves at the port.
using Client = std::function<double(std::vector<Descriptor>& sockets)>;

std::vector<Descriptor> connect_all(std::uint16_t port, std::size_t count) {
  std::vector<Descriptor> sockets;
  for (std::size_t i = 0; i < count; ++i) sockets.push_back(connect_soon(port));
  return sockets;
}

class KernelServer {
 public:
  KernelServer(server::Device& device, const Options& options)
      : device_(device),
        options_(options),
        programs_{{device, kSocketKernels, "-DMODE=0 " + options.build},
                  {device, kSocketKernels, "-DMODE=1 " + options.build},
                  {device, kSocketKernels, "-DMODE=2 " + options.build}} {}

  double run(const Work& work, const Client& client) {
    const std::uint16_t port = free_port();
    cl_int error = CL_SUCCESS;
    const auto sockets = static_cast<std::uint32_t>(work.connections + 1);
    using Rule = server::NetworkThreads::Rule;
    const Network::Hooks hooks{.broker = make_ref<testing::OpenBroker>(),
                               .threads = {options_.threads, options_.fixed_threads ? Rule::kFixed : Rule::kByLoad}};
    const Ref<Network> network =
        Network::make(device_, {sockets, static_cast<std::uint32_t>(options_.ring)}, hooks, error);
    if (!network) throw std::runtime_error("no network: error " + std::to_string(error));
    std::size_t groups = std::min(work.connections, options_.groups);
    while (work.connections % groups != 0) --groups;
    const std::size_t each = work.connections / groups;
    KernelRun run(programs_[work.mode], network, each == 1 ? "serve" : "serve_many",
                  {static_cast<cl_int>(work.connections), static_cast<cl_int>(work.size), 0,
                   static_cast<cl_int>(work.messages), 0, 0},
                  {.groups = groups,
                   .items = options_.items,
                   .scratch = 4096 + groups * (work.size + 16 * each),
                   .text = "tcp:127.0.0.1:" + std::to_string(port)});
    double seconds = 0;
    try {
      std::vector<Descriptor> connections = connect_all(port, work.connections);
      seconds = client(connections);
      connections.clear();
    } catch (...) {
      network->stop();
      throw;
    }
    if (!run.wait(std::chrono::seconds(20))) {
      network->stop();
      throw std::runtime_error("the kernel does not end");
    }
    if (const cl_int result = run.numbers()[5]; result < 0) {
      throw std::runtime_error("a call of the kernel failed with " + std::to_string(result));
    }
    return seconds;
  }

 private:
  server::Device& device_;
  const Options& options_;
  KernelProgram programs_[3];  // one for each mode
};

void serve_one(const Descriptor& socket, const Work& work) {
  std::vector<std::uint8_t> data(work.size);
  if (work.mode == kSend) {
    for (std::size_t i = 0; i < work.messages; ++i) testing::send_all(socket, data.data(), data.size());
    ::shutdown(socket.get(), SHUT_WR);
  } else if (work.mode == kEcho) {
    while (testing::receive_all(socket, data.data(), data.size()) == data.size()) {
      testing::send_all(socket, data.data(), data.size());
    }
  } else {
    while (::recv(socket.get(), data.data(), data.size(), 0) > 0) {
    }
  }
}

// The same with a thread for each connection.
double run_program(const Work& work, const Client& client) {
  std::uint16_t port = 0;
  const Descriptor listener = testing::listen_on_loopback(port);
  std::thread server([&] {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < work.connections; ++i) {
      threads.emplace_back([&work, socket = testing::accept_from(listener)] { serve_one(socket, work); });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::vector<Descriptor> connections = connect_all(port, work.connections);
  const double seconds = client(connections);
  connections.clear();
  server.join();
  return seconds;
}

// Sends messages and reads until the server has seen the end and closed.
double send_messages(std::vector<Descriptor>& sockets, const Work& work) {
  return for_each_connection(sockets.size(), [&](std::size_t i) {
    std::vector<std::uint8_t> data(work.size);
    for (std::size_t m = 0; m < work.messages; ++m) testing::send_all(sockets[i], data.data(), data.size());
    ::shutdown(sockets[i].get(), SHUT_WR);
    testing::receive_until_end(sockets[i]);
  });
}

double receive_messages(std::vector<Descriptor>& sockets, const Work& work) {
  return for_each_connection(sockets.size(), [&](std::size_t i) {
    std::vector<std::uint8_t> data(std::max<std::size_t>(work.size, 65536));
    std::size_t total = 0;
    while (const std::size_t came = testing::receive_all(sockets[i], data.data(), data.size())) total += came;
    if (total != work.size * work.messages) throw std::runtime_error("bytes are missing");
  });
}

double ping(std::vector<Descriptor>& sockets, const Work& work, std::vector<std::vector<double>>& samples) {
  samples.assign(sockets.size(), {});
  return for_each_connection(sockets.size(), [&](std::size_t i) {
    const std::vector<std::uint8_t> data = testing::pattern(work.size, static_cast<std::uint32_t>(i));
    std::vector<std::uint8_t> back(work.size);
    for (std::size_t m = 0; m < work.messages; ++m) {
      const Stopwatch watch;
      testing::send_all(sockets[i], data.data(), data.size());
      if (testing::receive_all(sockets[i], back.data(), back.size()) != back.size()) {
        throw std::runtime_error("the server has closed the connection");
      }
      samples[i].push_back(watch.seconds());
      if (back != data) throw std::runtime_error("other bytes came back than were sent");
    }
    ::shutdown(sockets[i].get(), SHUT_WR);
  });
}

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

void bandwidth(KernelServer& kernel, const Options& options, Mode mode, std::size_t size, std::size_t connections) {
  const std::size_t bytes = std::min(options.megabytes << 20, options.messages * size);
  const Work work{mode, size, connections, std::max<std::size_t>(1, bytes / size / connections)};
  report(mode == kSend ? "kernel to program" : "program to kernel", work, [&] {
    const Client client = [&](auto& sockets) {
      return mode == kSend ? receive_messages(sockets, work) : send_messages(sockets, work);
    };
    const double total = static_cast<double>(work.size * work.messages * work.connections) / 1e6;
    const double own = total / kernel.run(work, client), programs = total / run_program(work, client);
    std::printf("%9.1f MB/s, programs %9.1f MB/s, %5.1f %%\n", own, programs, 100 * own / programs);
  });
}

void latency(KernelServer& kernel, const char* what, const Work& work) {
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
    line("kernel", kernel.run(work, client));
    line("programs", run_program(work, client));
    std::printf("\n");
  });
}

bool selftest(KernelServer& kernel, const Options& options) {
  bool works = true;
  for (const std::size_t connections : {1u, 4u, 32u}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{64}, std::size_t{1000}, std::size_t{4097},
                                   std::size_t{65536}, 2 * options.ring + 3}) {
      std::vector<std::vector<double>> samples;
      const Work work{kEcho, size, connections, 20};
      try {
        kernel.run(work, [&](auto& sockets) { return ping(sockets, work, samples); });
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
  const bool works = Network::works_on(*device);
  cl_uint units = 1;
  clGetDeviceInfo(device->id(), CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
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
  KernelServer kernel(*device, options);
  if (options.selftest || options.only_selftest) {
    if (!selftest(kernel, options)) return 1;
    if (options.only_selftest) return 0;
  }
  latency(kernel, "echo", {kEcho, 64, 1, options.rounds});
  latency(kernel, "requests", {kEcho, 1024, 64, std::max<std::size_t>(1, options.rounds / 16)});
  if (options.no_bandwidth) return 0;
  for (const Mode mode : {kSend, kReceive}) {
    for (const std::size_t connections : options.connections) {
      for (const std::size_t size : options.sizes) bandwidth(kernel, options, mode, size, connections);
    }
  }
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
  app.add_option("--threads", options.threads, "of a network, at most; the default is half of the cores");
  app.add_flag("--fixed-threads", options.fixed_threads, "as many at all times, in place of one until it is busy");
  app.add_option("--megabytes", options.megabytes, "moved for a figure of bandwidth, at most");
  app.add_option("--messages", options.messages, "moved for a figure of bandwidth, at most");
  app.add_option("--rounds", options.rounds, "of the echo");
  app.add_option("--build", options.build, "options for the driver's compiler, such as -DRCL_I_OLD_GPU");
  app.add_flag("--selftest", options.selftest, "check first that bytes come back as they were sent");
  app.add_flag("--only-selftest", options.only_selftest, "check that and nothing else");
  app.add_flag("--no-bandwidth", options.no_bandwidth, "only latency and requests a second");
  CLI11_PARSE(app, argc, argv);
  try {
    return remotecl::bench::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
