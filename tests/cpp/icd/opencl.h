#pragma once

#include <CL/cl.h>

#include <chrono>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// A thin layer over OpenCL for tests: handles with owners, and what every test needs, in one line.
namespace remotecl::testing {

inline void check(cl_int code, std::source_location where = std::source_location::current()) {
  if (code == CL_SUCCESS) return;
  throw std::runtime_error("OpenCL error " + std::to_string(code) + " at " + where.file_name() + ":" +
                           std::to_string(where.line()));
}

inline void release(cl_device_id handle) { clReleaseDevice(handle); }
inline void release(cl_context handle) { clReleaseContext(handle); }
inline void release(cl_command_queue handle) { clReleaseCommandQueue(handle); }
inline void release(cl_mem handle) { clReleaseMemObject(handle); }
inline void release(cl_program handle) { clReleaseProgram(handle); }
inline void release(cl_kernel handle) { clReleaseKernel(handle); }
inline void release(cl_event handle) { clReleaseEvent(handle); }

// One reference to an OpenCL object.
template <class T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { reset(); }
  operator T() const { return handle_; }  // NOLINT: stands for the handle in every call
  T get() const { return handle_; }
  const T* pointer() const { return &handle_; }
  // For calls that return a handle through a pointer.
  T* out() {
    reset();
    return &handle_;
  }
  void reset() {
    if (handle_ != nullptr) release(std::exchange(handle_, nullptr));
  }

 private:
  T handle_ = nullptr;
};

// Any clGet...Info as a value, a text or a list.
template <class T, class Get, class... Arguments>
T value(Get get, Arguments... arguments) {
  T result{};
  check(get(arguments..., sizeof result, &result, nullptr));
  return result;
}
template <class T, class Get, class... Arguments>
std::vector<T> list(Get get, Arguments... arguments) {
  std::size_t size = 0;
  check(get(arguments..., 0, nullptr, &size));
  std::vector<T> result(size / sizeof(T));
  if (size != 0) check(get(arguments..., size, result.data(), nullptr));
  return result;
}
template <class Get, class... Arguments>
std::string text(Get get, Arguments... arguments) {
  const std::vector<char> bytes = list<char>(get, arguments...);
  return bytes.empty() ? std::string() : std::string(bytes.data(), bytes.size() - 1);
}

inline Owned<cl_context> make_context(const std::vector<cl_device_id>& devices) {
  cl_int error = CL_SUCCESS;
  Owned<cl_context> context(
      clCreateContext(nullptr, static_cast<cl_uint>(devices.size()), devices.data(), nullptr, nullptr, &error));
  check(error);
  return context;
}

inline Owned<cl_command_queue> make_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties = 0) {
  cl_int error = CL_SUCCESS;
  Owned<cl_command_queue> queue(clCreateCommandQueue(context, device, properties, &error));
  check(error);
  return queue;
}

inline Owned<cl_mem> make_buffer(cl_context context, std::size_t size, cl_mem_flags flags = CL_MEM_READ_WRITE,
                                 void* host_ptr = nullptr) {
  cl_int error = CL_SUCCESS;
  Owned<cl_mem> buffer(clCreateBuffer(context, flags, size, host_ptr, &error));
  check(error);
  return buffer;
}

template <class T>
Owned<cl_mem> make_buffer(cl_context context, std::vector<T> content, cl_mem_flags flags = CL_MEM_READ_WRITE) {
  return make_buffer(context, content.size() * sizeof(T), flags | CL_MEM_COPY_HOST_PTR, content.data());
}
// An image of one unsigned number a pixel.
inline Owned<cl_mem> make_square_image(cl_context context, std::size_t side, std::vector<cl_uint> content) {
  const cl_image_format format{CL_R, CL_UNSIGNED_INT32};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = description.image_height = side;
  cl_int error = CL_SUCCESS;
  Owned<cl_mem> image(
      clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &description, content.data(), &error));
  check(error);
  return image;
}

inline Owned<cl_mem> make_sub_buffer(cl_mem buffer, std::size_t origin, std::size_t size, cl_mem_flags flags = 0) {
  const cl_buffer_region region{origin, size};
  cl_int error = CL_SUCCESS;
  Owned<cl_mem> part(clCreateSubBuffer(buffer, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
  check(error);
  return part;
}

inline Owned<cl_program> make_program(cl_context context, const std::string& source) {
  const char* text = source.c_str();
  cl_int error = CL_SUCCESS;
  Owned<cl_program> program(clCreateProgramWithSource(context, 1, &text, nullptr, &error));
  check(error);
  return program;
}

inline Owned<cl_program> build(cl_context context, const std::string& source, const char* options = nullptr) {
  Owned<cl_program> program = make_program(context, source);
  check(clBuildProgram(program, 0, nullptr, options, nullptr, nullptr));
  return program;
}

inline Owned<cl_kernel> make_kernel(cl_program program, const char* name) {
  cl_int error = CL_SUCCESS;
  Owned<cl_kernel> kernel(clCreateKernel(program, name, &error));
  check(error);
  return kernel;
}

inline Owned<cl_event> make_user_event(cl_context context) {
  cl_int error = CL_SUCCESS;
  Owned<cl_event> event(clCreateUserEvent(context, &error));
  check(error);
  return event;
}

template <class T>
cl_int set_arg(cl_kernel kernel, cl_uint index, const T& argument) {
  return clSetKernelArg(kernel, index, sizeof argument, &argument);
}
inline cl_int set_arg(cl_kernel kernel, cl_uint index, const Owned<cl_mem>& argument) {
  return clSetKernelArg(kernel, index, sizeof(cl_mem), argument.pointer());
}

inline cl_int run(cl_command_queue queue, cl_kernel kernel, std::size_t size, const std::vector<cl_event>& wait = {},
                  cl_event* event = nullptr) {
  return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, static_cast<cl_uint>(wait.size()),
                                wait.empty() ? nullptr : wait.data(), event);
}

template <class T>
std::vector<T> read(cl_command_queue queue, cl_mem buffer, std::size_t count, std::size_t offset = 0,
                    std::source_location where = std::source_location::current()) {
  std::vector<T> content(count);
  check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset, count * sizeof(T), content.data(), 0, nullptr, nullptr),
        where);
  return content;
}

inline cl_int status(cl_event event) { return value<cl_int>(clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS); }
// Whether it succeeds within 10 s, where clWaitForEvents might wait for ever.
inline bool ends(cl_event event) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (status(event) > CL_COMPLETE && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  return status(event) == CL_COMPLETE;
}

}  // namespace remotecl::testing
