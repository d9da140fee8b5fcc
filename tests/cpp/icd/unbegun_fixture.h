#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "icd/fake_driver.h"

namespace remotecl::testing {

inline constexpr std::size_t kInts = 96 * 1024, kBytes = kInts * sizeof(int);  // more than a message takes
inline constexpr std::size_t kWidth = 256, kHeight = kInts / kWidth;
inline constexpr int kNew = -7;

inline std::vector<int> old_ints(int first = 1) {
  std::vector<int> ints(kInts);
  std::iota(ints.begin(), ints.end(), first);
  return ints;
}

// Three servers, buffers whose bytes are on one of them, and commands that would overwrite these.
class UnbegunTest : public FakeDriverTest {
 protected:
  UnbegunTest() : devices_(devices(CL_DEVICE_TYPE_GPU)) {
    devices_.resize(3);
    context_ = make_context(devices_);
    for (cl_device_id device : devices_) {
      queues_.push_back(make_queue(context_, device));
      const auto offered = value<cl_command_queue_properties>(clGetDeviceInfo, device, CL_DEVICE_QUEUE_PROPERTIES);
      out_of_order_.push_back(make_queue(context_, device, offered & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
    }
    source_ = make_buffer(context_, std::vector<int>(kInts, kNew));
  }

  // A buffer whose bytes are on that server only.
  Owned<cl_mem> make_old(std::size_t server, int first = 1) {
    Owned<cl_mem> buffer = make_buffer(context_, kBytes);
    put(buffer, server, first);
    return buffer;
  }
  void put(cl_mem buffer, std::size_t server, int first = 1) {
    const std::vector<int> ints = old_ints(first);
    check(clEnqueueWriteBuffer(queues_[server], buffer, CL_TRUE, 0, kBytes, ints.data(), 0, nullptr, nullptr));
    check(clFinish(queues_[server]));
  }
  Owned<cl_mem> make_image(bool has_content) {
    const cl_image_format format{CL_R, CL_UNSIGNED_INT32};
    cl_image_desc description{};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = kWidth;
    description.image_height = kHeight;
    std::vector<int> ints = old_ints();
    cl_int error = CL_SUCCESS;
    Owned<cl_mem> image(clCreateImage(context_, CL_MEM_READ_WRITE | (has_content ? CL_MEM_COPY_HOST_PTR : 0), &format,
                                      &description, has_content ? ints.data() : nullptr, &error));
    check(error);
    return image;
  }
  static std::vector<int> read_image(cl_command_queue queue, cl_mem image) {
    std::vector<int> ints(kInts);
    const std::size_t origin[3] = {}, region[3] = {kWidth, kHeight, 1};
    check(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, ints.data(), 0, nullptr, nullptr));
    return ints;
  }

  using Command = std::function<cl_int(cl_command_queue, cl_mem, cl_uint, const cl_event*, cl_event*)>;
  struct Kind {
    const char* name;
    const char* function;  // of the driver
    Command command;
  };
  std::vector<Kind> kinds() {
    const auto data = std::make_shared<std::vector<int>>(kInts, kNew);
    return {
        {"fill", "clEnqueueFillBuffer",
         [](auto queue, auto buffer, auto count, auto waits, auto event) {
           return clEnqueueFillBuffer(queue, buffer, &kNew, sizeof kNew, 0, kBytes, count, waits, event);
         }},
        {"part of a fill", "clEnqueueFillBuffer",
         [](auto queue, auto buffer, auto count, auto waits, auto event) {
           return clEnqueueFillBuffer(queue, buffer, &kNew, sizeof kNew, 4096, 8192, count, waits, event);
         }},
        {"small write", "clEnqueueWriteBuffer",
         [data](auto queue, auto buffer, auto count, auto waits, auto event) {
           return clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 128, 4096, data->data(), count, waits, event);
         }},
        {"large write", "clEnqueueWriteBuffer",
         [data](auto queue, auto buffer, auto count, auto waits, auto event) {
           return clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, kBytes, data->data(), count, waits, event);
         }},
        {"copy", "clEnqueueCopyBuffer",
         [this](auto queue, auto buffer, auto count, auto waits, auto event) {
           return clEnqueueCopyBuffer(queue, source_, buffer, 0, 0, kBytes, count, waits, event);
         }},
        {"rectangle", "clEnqueueCopyBufferRect",
         [this](auto queue, auto buffer, auto count, auto waits, auto event) {
           const std::size_t origin[3] = {}, region[3] = {kWidth * 2, kHeight, 1};
           return clEnqueueCopyBufferRect(queue, source_, buffer, origin, origin, region, kWidth * 4, 0, kWidth * 4, 0,
                                          count, waits, event);
         }},
        {"write of a rectangle", "clEnqueueWriteBufferRect",
         [data](auto queue, auto buffer, auto count, auto waits, auto event) {
           const std::size_t origin[3] = {}, region[3] = {kWidth * 4, kHeight, 1};
           return clEnqueueWriteBufferRect(queue, buffer, CL_FALSE, origin, origin, region, 0, 0, 0, 0, data->data(),
                                           count, waits, event);
         }},
        {"sub-buffer", "clEnqueueFillBuffer",
         [](auto queue, auto buffer, auto count, auto waits, auto event) {
           const Owned<cl_mem> part = make_sub_buffer(buffer, kBytes / 2, kBytes / 2);
           return clEnqueueFillBuffer(queue, part, &kNew, sizeof kNew, 0, kBytes / 2, count, waits, event);
         }},
        {"kernel", "clEnqueueNDRangeKernel",
         [this](auto queue, auto buffer, auto count, auto waits, auto event) {
           const Owned<cl_kernel> fill = make_kernel(program(), "fill_mv");
           set_arguments(fill, buffer, kNew);
           const std::size_t size = kInts;
           return clEnqueueNDRangeKernel(queue, fill, 1, nullptr, &size, nullptr, count, waits, event);
         }},
    };
  }
  cl_program program() {
    if (program_ == nullptr) program_ = build(context_, "fill_mv add_mv count_mv");
    return program_;
  }
  void add(cl_command_queue queue, cl_mem buffer, int value) {
    const Owned<cl_kernel> kernel = make_kernel(program(), "add_mv");
    set_arguments(kernel, buffer, value);
    check(run(queue, kernel, kInts));
  }

  void expect(cl_mem buffer, const std::vector<int>& ints, const std::string& what) {
    for (std::size_t server : {1, 0, 2}) {
      EXPECT_TRUE(read<int>(queues_[server], buffer, kInts) == ints) << what << ", read on server " << server;
    }
  }
  // Has the command end before it begins, and waits for that.
  static void refuse(const Owned<cl_event>& gate, const Owned<cl_event>& command) {
    check(clSetUserEventStatus(gate, -5));
    EXPECT_EQ(clWaitForEvents(1, command.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_EQ(status(command), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  }

  std::vector<cl_device_id> devices_;
  Owned<cl_context> context_;
  std::vector<Owned<cl_command_queue>> queues_, out_of_order_;
  Owned<cl_mem> source_;
  Owned<cl_program> program_;
};

}  // namespace remotecl::testing
