#pragma once

#include "icd/command_buffer_functions.h"
#include "icd/fixture.h"

namespace remotecl::testing {

// The entry points of cl_khr_command_buffer, as a program finds them.
struct CommandBufferApi {
  explicit CommandBufferApi(cl_platform_id platform) {
    find(platform, create, "clCreateCommandBufferKHR");
    find(platform, finalize, "clFinalizeCommandBufferKHR");
    find(platform, retain, "clRetainCommandBufferKHR");
    find(platform, release, "clReleaseCommandBufferKHR");
    find(platform, enqueue, "clEnqueueCommandBufferKHR");
    find(platform, barrier, "clCommandBarrierWithWaitListKHR");
    find(platform, copy, "clCommandCopyBufferKHR");
    find(platform, copy_rect, "clCommandCopyBufferRectKHR");
    find(platform, fill, "clCommandFillBufferKHR");
    find(platform, kernel, "clCommandNDRangeKernelKHR");
    find(platform, copy_image, "clCommandCopyImageKHR");
    find(platform, copy_image_to_buffer, "clCommandCopyImageToBufferKHR");
    find(platform, copy_buffer_to_image, "clCommandCopyBufferToImageKHR");
    find(platform, fill_image, "clCommandFillImageKHR");
    find(platform, info, "clGetCommandBufferInfoKHR");
  }
  static const CommandBufferApi& get() {
    static const CommandBufferApi api(Environment::get().remote_platform());
    return api;
  }

  decltype(&icd::create_command_buffer) create;
  decltype(&icd::finalize_command_buffer) finalize;
  decltype(&icd::retain_command_buffer) retain;
  decltype(&icd::release_command_buffer) release;
  decltype(&icd::enqueue_command_buffer) enqueue;
  decltype(&icd::command_barrier) barrier;
  decltype(&icd::command_copy_buffer) copy;
  decltype(&icd::command_copy_buffer_rect) copy_rect;
  decltype(&icd::command_fill_buffer) fill;
  decltype(&icd::command_nd_range_kernel) kernel;
  decltype(&icd::command_copy_image) copy_image;
  decltype(&icd::command_copy_image_to_buffer) copy_image_to_buffer;
  decltype(&icd::command_copy_buffer_to_image) copy_buffer_to_image;
  decltype(&icd::command_fill_image) fill_image;
  decltype(&icd::get_command_buffer_info) info;

 private:
  template <class Function>
  static void find(cl_platform_id platform, Function& function, const char* name) {
    function = reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform, name));
    if (function == nullptr) throw std::runtime_error(std::string(name) + " is not there");
  }
};

using Points = std::vector<cl_sync_point_khr>;

// A command buffer and short ways to record into it. Each gives the command's sync point.
class Recorded {
 public:
  explicit Recorded(cl_command_queue queue, cl_command_buffer_flags_khr flags = 0) {
    const cl_command_buffer_properties_khr properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR, flags, 0};
    cl_int error = CL_SUCCESS;
    handle_ = api_.create(1, &queue, flags == 0 ? nullptr : properties, &error);
    check(error);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded() { release_now(); }

  operator cl_command_buffer_khr() const { return handle_; }  // NOLINT: stands for the handle in every call
  void release_now() {
    if (handle_ != nullptr) api_.release(std::exchange(handle_, nullptr));
  }

  cl_sync_point_khr kernel(cl_kernel kernel, std::size_t size, const Points& wait = {}) {
    cl_sync_point_khr point = 0;
    check(api_.kernel(handle_, nullptr, nullptr, kernel, 1, nullptr, &size, nullptr, count(wait), list(wait), &point,
                      nullptr));
    return point;
  }
  cl_sync_point_khr fill(cl_mem buffer, int value, std::size_t size, const Points& wait = {}) {
    cl_sync_point_khr point = 0;
    check(api_.fill(handle_, nullptr, buffer, &value, sizeof value, 0, size, count(wait), list(wait), &point, nullptr));
    return point;
  }
  cl_sync_point_khr copy(cl_mem from, cl_mem to, std::size_t size, const Points& wait = {}) {
    cl_sync_point_khr point = 0;
    check(api_.copy(handle_, nullptr, from, to, 0, 0, size, count(wait), list(wait), &point, nullptr));
    return point;
  }
  cl_sync_point_khr barrier(const Points& wait = {}) {
    cl_sync_point_khr point = 0;
    check(api_.barrier(handle_, nullptr, count(wait), list(wait), &point, nullptr));
    return point;
  }
  void finalize() { check(api_.finalize(handle_)); }
  cl_int replay(const std::vector<cl_event>& wait = {}, cl_event* event = nullptr) {
    return api_.enqueue(0, nullptr, handle_, static_cast<cl_uint>(wait.size()), wait.empty() ? nullptr : wait.data(),
                        event);
  }
  cl_int replay_on(cl_command_queue queue) { return api_.enqueue(1, &queue, handle_, 0, nullptr, nullptr); }
  cl_command_buffer_state_khr state() const {
    return value<cl_command_buffer_state_khr>(api_.info, handle_, cl_uint{CL_COMMAND_BUFFER_STATE_KHR});
  }

 private:
  static cl_uint count(const Points& points) { return static_cast<cl_uint>(points.size()); }
  static const cl_sync_point_khr* list(const Points& points) { return points.empty() ? nullptr : points.data(); }

  const CommandBufferApi& api_ = CommandBufferApi::get();
  cl_command_buffer_khr handle_ = nullptr;
};

inline constexpr std::size_t kCount = 64;
inline constexpr std::size_t kSize = kCount * sizeof(int);

class CommandBufferTest : public RemoteTest {
 protected:
  // A kernel `add` on this buffer.
  Owned<cl_kernel> add(const Owned<cl_mem>& buffer, int value) {
    Owned<cl_kernel> kernel = this->kernel("add");
    check(set_arg(kernel, 0, buffer));
    check(set_arg(kernel, 1, value));
    return kernel;
  }
  Owned<cl_command_queue> make_out_of_order(cl_command_queue_properties more = 0) {
    return make_queue(context_, device(0), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | more);
  }
  // Keeps a queue busy for a while: commands that break the order would overtake it.
  Owned<cl_kernel> spin(const Owned<cl_mem>& buffer, int rounds) {
    Owned<cl_kernel> kernel = this->kernel("spin");
    check(set_arg(kernel, 0, buffer));
    check(set_arg(kernel, 1, rounds));
    return kernel;
  }
  static std::vector<int> all(int value) { return std::vector<int>(kCount, value); }
};

}  // namespace remotecl::testing
