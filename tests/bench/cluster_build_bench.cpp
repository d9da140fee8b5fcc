// How long a program of several kernels takes to build for one server and for all of them, and until each kernel has
// run there. Run it again with the same --name, after the servers were restarted: then the program is known.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "measure.h"
#include "opencl_objects.h"
#include "remotecl/remotecl.h"
#include "run_bench.h"

namespace remotecl::bench {
namespace {

// `name` makes it a program of its own: drivers and servers keep what they have compiled.
std::string source_for(const std::string& name, int kernels) {
  std::string source = "// " + name + "\n";
  const std::string salt = std::to_string(std::hash<std::string>()(name) % 1'000'000) + ".0f";
  for (int i = 0; i < kernels; ++i) {
    const std::string number = std::to_string(i);
    source += "kernel void k" + number + "(global float* y, global const float* x, float a) {\n" +
              "  const size_t i = get_global_id(0);\n  float s = " + number + " + " + salt + ";\n" +
              "  for (int k = 0; k < 16; ++k) s = fma(a, x[i] + k, sin(s));\n  y[i] += s;\n}\n";
  }
  return source;
}

// The first device of each server.
std::vector<cl_device_id> first_devices() {
  for (cl_platform_id platform : all_platforms()) {
    if (platform_name(platform) != "remotecl") continue;
    std::vector<cl_device_id> first;
    std::string last;
    for (cl_device_id device : all_devices(platform)) {
      const std::string server = device_string(device, CL_DEVICE_REMOTECL_SERVER);
      if (server != last) first.push_back(device);
      last = server;
    }
    return first;
  }
  throw ClError("there is no remotecl platform: set REMOTECL_SERVERS");
}

struct Times {
  double build = 0, first_runs = 0;
};

Times measure(const std::vector<cl_device_id>& devices, const std::string& source, int kernels) {
  cl_platform_id platform = device_value<cl_platform_id>(devices.front(), CL_DEVICE_PLATFORM);
  const Context context = make_context(platform, devices);
  std::vector<Queue> queues;
  std::vector<Memory> memory;
  for (cl_device_id device : devices) {
    queues.push_back(make_queue(context.get(), device, 0));
    memory.push_back(make_buffer(context.get(), 256 * sizeof(float)));
    const cl_float zero = 0;
    check(clEnqueueFillBuffer(queues.back().get(), memory.back().get(), &zero, sizeof zero, 0, 256 * sizeof zero, 0,
                              nullptr, nullptr),
          "clEnqueueFillBuffer");
    check(clFinish(queues.back().get()), "clFinish");
  }
  Times times;
  const Stopwatch build;
  const Program program = build_program(context.get(), devices, source);
  times.build = build.seconds();
  const Stopwatch runs;
  for (int k = 0; k < kernels; ++k) {
    const Kernel kernel = make_kernel(program, ("k" + std::to_string(k)).c_str());
    for (std::size_t i = 0; i < queues.size(); ++i) {
      cl_mem buffer = memory[i].get();
      set_argument(kernel, 0, buffer);
      set_argument(kernel, 1, buffer);
      set_argument(kernel, 2, cl_float{1});
      const std::size_t size = 256;
      check(clEnqueueNDRangeKernel(queues[i].get(), kernel.get(), 1, nullptr, &size, nullptr, 0, nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    }
  }
  for (const Queue& queue : queues) check(clFinish(queue.get()), "clFinish");
  times.first_runs = runs.seconds();
  return times;
}

int run(int argc, char** argv) {
  CLI::App app{"Measures builds for one and for all servers of REMOTECL_SERVERS. Times in ms."};
  std::string name = std::to_string(getpid());
  int kernels = 8, repetitions = 5;
  app.add_option("--kernels", kernels, "Kernels of the program")->check(CLI::Range(1, 1000));
  app.add_option("--repetitions", repetitions, "Programs of each row, of which it shows the median")
      ->check(CLI::Range(1, 1000));
  app.add_option("--name", name, "Makes the programs other ones; without it new ones each time");
  CLI11_PARSE(app, argc, argv);
  const std::vector<cl_device_id> all = first_devices();
  const std::vector<cl_device_id> one(1, all.front());
  // The first build in a server loads its compiler.
  measure(all, "kernel void k0(global float* y, global const float* x, float a) { y[0] = a; }", 1);
  std::printf("%d kernels  servers  clBuildProgram  all kernels once\n", kernels);
  const auto row = [&](const char* title, const char* suffix, const std::vector<cl_device_id>& devices) {
    std::vector<double> builds, runs;
    for (int i = 0; i < repetitions; ++i) {
      const Times times = measure(devices, source_for(name + suffix + std::to_string(i), kernels), kernels);
      builds.push_back(times.build);
      runs.push_back(times.first_runs);
    }
    const double build = summarize(std::move(builds)).median;
    std::printf("%-9s  %7zu  %14.2f  %16.2f\n", title, devices.size(), build * 1e3,
                summarize(std::move(runs)).median * 1e3);
    std::fflush(stdout);
    return build;
  };
  const double single = row("first", " one ", one);
  const double every = row("first", " all ", all);
  row("again", " one ", one);
  row("again", " all ", all);
  std::printf("first, %zu servers / 1 server: %.2f\n", all.size(), every / single);
  return 0;
}

}  // namespace
}  // namespace remotecl::bench

int main(int argc, char** argv) {
  return remotecl::bench::run_bench("remotecl-cluster-build-bench", remotecl::bench::run, argc, argv);
}
