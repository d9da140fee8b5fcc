// A program like any other, for scripts/rdma-transfers.sh: moves bytes to, from and between the devices that the loader
// shows, checks every byte, and prints the medians of its rounds, and what remotecl says that RDMA has cost this
// process. With RDMA_TRANSFERS_KERNEL=1 a kernel runs in place of the small operations. Usage: rdma-transfers [MiB
// [ROUNDS [SMALL]]], where SMALL (200) is how often each small operation is carried out; 0 leaves them out.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace {

void check(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, error);
  std::exit(1);
}

// What the guest's device has sent so far, whoever asked for it.
std::uint64_t packets() {
  std::ifstream file("/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts");
  std::uint64_t count = 0;
  file >> count;
  return count;
}

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::uint32_t>(i) * 2654435761u + seed;
  return numbers;
}

std::vector<cl_device_id> all_devices() {
  cl_platform_id platforms[8];
  cl_uint platform_count = 0;
  check(clGetPlatformIDs(8, platforms, &platform_count), "platforms");
  std::vector<cl_device_id> devices;
  for (cl_uint p = 0; p < std::min(platform_count, 8u); ++p) {
    cl_device_id found[16];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, found, &count) != CL_SUCCESS) continue;
    devices.insert(devices.end(), found, found + std::min(count, 16u));
  }
  return devices;
}

// Of what remotecl says of this process, the sum of a counter over its servers; 0 without remotecl.
double counted(const std::string& name) {
  const char* const driver = std::getenv("OCL_ICD_VENDORS");
  void* const library = driver == nullptr ? nullptr : ::dlopen(driver, RTLD_NOW | RTLD_NOLOAD);
  const auto say =
      library == nullptr ? nullptr : reinterpret_cast<char* (*)()>(::dlsym(library, "remotecl_stats_json"));
  if (say == nullptr) return 0;
  const std::string text = say(), begin = "\"rdma\":{", key = "\"" + name + "\":";
  double sum = 0;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const std::string rdma = text.substr(at, text.find('}', at) - at);
    if (const std::size_t value = rdma.find(key); value != std::string::npos) {
      sum += std::strtod(rdma.c_str() + value + key.size(), nullptr);
    }
  }
  return sum;
}

void print_cost() {
  const double moved = counted("bytes_sent") + counted("bytes_received");
  if (moved == 0) return;
  std::printf("cost client: %.0f bytes by RDMA, %.0f copied, %.0f system calls\n", moved, counted("bytes_copied"),
              counted("system_calls"));
}

class Rounds {
 public:
  Rounds(const char* name, std::size_t bytes) : name_(name), bytes_(bytes), packets_(packets()) {}
  void time(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    seconds_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  ~Rounds() {
    std::sort(seconds_.begin(), seconds_.end());
    const double median = seconds_[seconds_.size() / 2];
    const auto sent = static_cast<unsigned long long>(packets() - packets_);
    if (bytes_ < 1024) {
      std::printf("%-12s %8.0f us  %llu RDMA packets\n", name_, median * 1e6, sent);
    } else {
      std::printf("%-12s %8.1f MB/s  %llu RDMA packets\n", name_, static_cast<double>(bytes_) / median / 1e6, sent);
    }
    std::fflush(stdout);
  }

 private:
  const char* name_;
  std::size_t bytes_;
  std::uint64_t packets_;
  std::vector<double> seconds_;
};

void run_kernel(cl_context context, cl_device_id device, cl_command_queue queue, cl_mem buffer, std::size_t count) {
  const char* source = "kernel void twice(global uint* x) { x[get_global_id(0)] *= 2; }";
  cl_int error = CL_SUCCESS;
  const cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  check(error, "program");
  check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "build");
  const cl_kernel kernel = clCreateKernel(program, "twice", &error);
  check(error, "kernel");
  check(clSetKernelArg(kernel, 0, sizeof buffer, static_cast<const void*>(&buffer)), "argument");
  check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &count, nullptr, 0, nullptr, nullptr), "launch");
  check(clFinish(queue), "kernel run");
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64) << 20;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const int small_count = argc > 3 ? std::atoi(argv[3]) : 200;
  const std::size_t count = bytes / sizeof(std::uint32_t);
  const std::vector<cl_device_id> devices = all_devices();
  if (devices.empty()) check(CL_DEVICE_NOT_FOUND, "devices");
  cl_int error = CL_SUCCESS;
  const cl_context context =
      clCreateContext(nullptr, static_cast<cl_uint>(devices.size()), devices.data(), nullptr, nullptr, &error);
  check(error, "context");
  std::vector<cl_command_queue> queues;
  for (cl_device_id device : devices) {
    queues.push_back(clCreateCommandQueueWithProperties(context, device, nullptr, &error));
    check(error, "queue");
  }
  const cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &error);
  check(error, "buffer");
  std::vector<std::uint32_t> got(count);
  const auto expect = [&](const std::vector<std::uint32_t>& wanted, const char* where) {
    if (got != wanted) {
      const auto at = std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin();
      std::fprintf(stderr, "%s: wrong from number %td on\n", where, at);
      std::exit(1);
    }
  };
  const auto read = [&](cl_command_queue queue) {
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, got.data(), 0, nullptr, nullptr), "read");
  };
  {
    Rounds write_rounds("write", bytes);
    Rounds read_rounds("read", bytes);
    for (int i = 0; i < rounds; ++i) {
      const auto wanted = numbers(count, static_cast<std::uint32_t>(i));
      write_rounds.time([&] {
        check(clEnqueueWriteBuffer(queues[0], buffer, CL_TRUE, 0, bytes, wanted.data(), 0, nullptr, nullptr), "write");
        check(clFinish(queues[0]), "write");
      });
      std::fill(got.begin(), got.end(), 0);
      read_rounds.time([&] { read(queues[0]); });
      expect(wanted, "read");
    }
  }
  const bool runs_kernel = std::getenv("RDMA_TRANSFERS_KERNEL") != nullptr;
  if (devices.size() > 1) {
    Rounds migrate_rounds("migrate", bytes);
    for (int i = 0; i < rounds; ++i) {
      const auto wanted = numbers(count, static_cast<std::uint32_t>(100 + i));
      check(clEnqueueWriteBuffer(queues[0], buffer, CL_TRUE, 0, bytes, wanted.data(), 0, nullptr, nullptr), "write");
      check(clFinish(queues[0]), "write");
      migrate_rounds.time([&] {
        check(clEnqueueMigrateMemObjects(queues.back(), 1, &buffer, 0, 0, nullptr, nullptr), "migrate");
        check(clFinish(queues.back()), "migrate");
      });
      read(queues.back());
      expect(wanted, "migration");
    }
  }
  if (!runs_kernel) {
    print_cost();
    // Small operations, each waited for.
    std::uint32_t word = 0;
    const auto small = [&](const char* name, const std::function<void()>& work) {
      if (small_count == 0) return;
      for (int i = 0; i < small_count / 4; ++i) work();
      Rounds small_rounds(name, 4);
      for (int i = 0; i < small_count; ++i) small_rounds.time(work);
    };
    small("write 4 B", [&] {
      ++word;
      check(clEnqueueWriteBuffer(queues[0], buffer, CL_TRUE, 0, 4, &word, 0, nullptr, nullptr), "write");
      check(clFinish(queues[0]), "write");
    });
    small("read 4 B", [&] {
      std::uint32_t got_word = 0;
      check(clEnqueueReadBuffer(queues[0], buffer, CL_TRUE, 0, 4, &got_word, 0, nullptr, nullptr), "read");
      if (got_word != word) check(-1, "a small read is wrong");
    });
    small("no-op", [&] {
      check(clEnqueueMarkerWithWaitList(queues[0], 0, nullptr, nullptr), "marker");
      check(clFinish(queues[0]), "marker");
    });
    if (devices.size() > 1) {
      const cl_mem small_buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4, nullptr, &error);
      check(error, "buffer");
      std::size_t turn = 0;
      small("migrate 4 B", [&] {
        ++turn;
        const cl_command_queue queue = queues[turn % 2];
        ++word;
        check(clEnqueueFillBuffer(queue, small_buffer, &word, 4, 0, 4, 0, nullptr, nullptr), "fill");
        const cl_command_queue other = queues[(turn + 1) % 2];
        check(clEnqueueMigrateMemObjects(other, 1, &small_buffer, 0, 0, nullptr, nullptr), "migrate");
        check(clFinish(other), "migrate");
      });
      clReleaseMemObject(small_buffer);
    }
  }
  if (runs_kernel) {
    auto wanted = numbers(count, 7);
    check(clEnqueueWriteBuffer(queues[0], buffer, CL_TRUE, 0, bytes, wanted.data(), 0, nullptr, nullptr), "write");
    run_kernel(context, devices[0], queues[0], buffer, count);
    for (std::uint32_t& number : wanted) number *= 2;
    read(queues[0]);
    expect(wanted, "kernel");
    std::puts("kernel     right");
  }
  std::puts("right");
  for (cl_command_queue queue : queues) clReleaseCommandQueue(queue);
  clReleaseMemObject(buffer);
  clReleaseContext(context);
  return 0;
}
