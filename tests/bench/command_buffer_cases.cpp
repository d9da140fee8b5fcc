#include <string>

#include "cases.h"
#include "icd/command_buffer_functions.h"

namespace remotecl::bench {
namespace {

constexpr size_t kKernels = 100;

template <typename Function>
Function extension_function(const ClSide& side, const char* name) {
  return reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(side.choice().platform, name));
}

// A command buffer of `kKernels` no-op kernels for the side's queue.
class Recording {
 public:
  explicit Recording(const ClSide& side)
      : release_(extension_function<decltype(&icd::release_command_buffer)>(side, "clReleaseCommandBufferKHR")),
        enqueue_(extension_function<decltype(&icd::enqueue_command_buffer)>(side, "clEnqueueCommandBufferKHR")) {
    const auto create = extension_function<decltype(&icd::create_command_buffer)>(side, "clCreateCommandBufferKHR");
    const auto kernel = extension_function<decltype(&icd::command_nd_range_kernel)>(side, "clCommandNDRangeKernelKHR");
    const auto finalize =
        extension_function<decltype(&icd::finalize_command_buffer)>(side, "clFinalizeCommandBufferKHR");
    const cl_command_queue queue = side.queue();
    cl_int error = CL_SUCCESS;
    commands_ = create(1, &queue, nullptr, &error);
    check(error, "clCreateCommandBufferKHR");
    const size_t one = 1;
    for (size_t i = 0; i < kKernels; ++i) {
      check(kernel(commands_, nullptr, nullptr, side.no_op(), 1, nullptr, &one, &one, 0, nullptr, nullptr, nullptr),
            "clCommandNDRangeKernelKHR");
    }
    check(finalize(commands_), "clFinalizeCommandBufferKHR");
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { release_(commands_); }

  void replay() const { check(enqueue_(0, nullptr, commands_, 0, nullptr, nullptr), "clEnqueueCommandBufferKHR"); }

 private:
  const decltype(&icd::release_command_buffer) release_;
  const decltype(&icd::enqueue_command_buffer) enqueue_;
  cl_command_buffer_khr commands_ = nullptr;
};

// The native side enqueues the same kernels one by one: drivers without the extension are what it is for.
std::optional<Case> replay_finish(const Bench& bench) {
  size_t size = 0;
  check(clGetDeviceInfo(bench.remotecl.choice().device, CL_DEVICE_EXTENSIONS, 0, nullptr, &size), "clGetDeviceInfo");
  std::string extensions(size, '\0');
  check(clGetDeviceInfo(bench.remotecl.choice().device, CL_DEVICE_EXTENSIONS, size, extensions.data(), nullptr),
        "clGetDeviceInfo");
  if (extensions.find("cl_khr_command_buffer") == std::string::npos) return std::nullopt;
  Case result;
  result.small = true;
  result.target = Target{1, 1, 10, "raw + native + 10 us"};
  result.plan = small_plan(bench.options);
  auto recording = std::make_shared<Recording>(bench.remotecl);
  result.runners.remotecl = {[&side = bench.remotecl, recording] {
                               const Stopwatch watch;
                               recording->replay();
                               ClSide::finish(side.queue());
                               return watch.seconds();
                             },
                             {}};
  if (bench.native) {
    result.runners.native = {[&side = *bench.native] {
                               const Stopwatch watch;
                               for (size_t i = 0; i < kKernels; ++i) ClSide::enqueue(side.queue(), side.no_op());
                               ClSide::finish(side.queue());
                               return watch.seconds();
                             },
                             {}};
  }
  result.runners.raw = raw_round_trip(bench);
  return result;
}

}  // namespace

void add_command_buffer_cases(std::vector<CaseEntry>& cases) {
  cases.push_back({"command-buffer-100-kernels", replay_finish});
}

}  // namespace remotecl::bench
