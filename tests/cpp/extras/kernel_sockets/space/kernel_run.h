#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "extras/kernel_sockets/space/kernel_socket_space.h"
#include "server/driver/native_driver.h"

namespace remotecl::testing {

// How many threads each network of the tests has: REMOTECL_TEST_NETWORK_THREADS, with an r
// behind it for those that hand their sockets around all the time; or what is usual here.
server::SpaceThreads threads_of_tests();

// A program whose kernels have networks, on a device of the native driver. Throws std::runtime_error with the driver's
// words. One thread.
class KernelProgram {
 public:
  // `source`: without the include of the device library.
  KernelProgram(server::Device& device, const std::string& source, const std::string& options = "");
  ~KernelProgram();
  KernelProgram(const KernelProgram&) = delete;
  KernelProgram& operator=(const KernelProgram&) = delete;

  server::Device& device() const { return device_; }
  cl_program get() const { return program_; }

 private:
  server::Device& device_;
  cl_program program_ = nullptr;
};

// One kernel that runs: its arguments are the network, an array of integers, and memory of its own. The array is read
// once it has ended; the memory at any time, on devices that use it in place.
class KernelRun {
 public:
  struct Size {
    std::size_t groups = 1;
    std::size_t items = 1;  // in each
    std::size_t scratch = 1u << 20;
    std::string text = "";  // what the scratch memory begins with
  };
  KernelRun(KernelProgram& program, const Ref<server::KernelSocketSpace>& network, const char* name,
            const std::vector<cl_int>& numbers, const Size& size);
  // Waits for its end.
  ~KernelRun();
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  // Returns false if it still runs after this time.
  bool wait(std::chrono::milliseconds time = std::chrono::seconds(60));
  // What the kernel left in the array. Waits for its end.
  std::vector<cl_int> numbers();
  const void* scratch() const { return scratch_data_; }
  // One number of the array while the kernel runs.
  cl_int number_now(std::size_t at) const;

 private:
  class End;

  const Ref<server::KernelSocketSpace> network_;
  const std::shared_ptr<End> end_;
  cl_command_queue queue_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_mem numbers_ = nullptr, scratch_ = nullptr;
  std::byte* numbers_data_ = nullptr;
  std::byte* scratch_data_ = nullptr;
  std::size_t count_;
  cl_event event_ = nullptr;
};

}  // namespace remotecl::testing
