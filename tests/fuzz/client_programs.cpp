#include "client_programs.h"

#include <CL/cl_ext.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "icd/command_buffer_functions.h"
#include "remotecl/remotecl.h"

namespace remotecl::fuzz {
namespace {

constexpr std::size_t kSmall = 256, kLarge = 100000;

// A context with a queue and two buffers.
class Objects {
 public:
  explicit Objects(cl_device_id device, cl_command_queue_properties properties = 0) {
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = clCreateCommandQueue(context, device, properties, nullptr);
    small = clCreateBuffer(context, CL_MEM_READ_WRITE, kSmall, nullptr, nullptr);
    large = clCreateBuffer(context, CL_MEM_READ_WRITE, kLarge, nullptr, nullptr);
  }
  ~Objects() {
    if (small != nullptr) clReleaseMemObject(small);
    if (large != nullptr) clReleaseMemObject(large);
    if (queue != nullptr) clReleaseCommandQueue(queue);
    if (context != nullptr) clReleaseContext(context);
  }
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem small = nullptr, large = nullptr;
};

void release(cl_event event) {
  if (event != nullptr) clReleaseEvent(event);
}
void release_json(char* text) { remotecl_free(text); }

void ask_device(cl_device_id device) {
  for (cl_device_info name = 0x1000; name < 0x1080; ++name) {
    std::size_t size = 0;
    if (clGetDeviceInfo(device, name, 0, nullptr, &size) != CL_SUCCESS || size > 65536) continue;
    const std::unique_ptr<char[]> value(new char[size]);
    clGetDeviceInfo(device, name, size, value.get(), nullptr);
  }
  cl_ulong device_time = 0, host_time = 0;
  clGetDeviceAndHostTimer(device, &device_time, &host_time);
  const Objects objects(device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

void move_buffers(cl_device_id device) {
  const Objects objects(device);
  {
    const std::unique_ptr<char[]> bytes(new char[kLarge]());
    clEnqueueWriteBuffer(objects.queue, objects.small, CL_TRUE, 0, kSmall, bytes.get(), 0, nullptr, nullptr);
    clEnqueueWriteBuffer(objects.queue, objects.large, CL_TRUE, 0, kLarge, bytes.get(), 0, nullptr, nullptr);
  }
  const int pattern = 1;
  clEnqueueFillBuffer(objects.queue, objects.small, &pattern, sizeof pattern, 0, kSmall, 0, nullptr, nullptr);
  clEnqueueFillBuffer(objects.queue, objects.large, &pattern, sizeof pattern, 0, kLarge, 0, nullptr, nullptr);
  {
    const std::unique_ptr<char[]> bytes(new char[kSmall]);
    clEnqueueReadBuffer(objects.queue, objects.small, CL_TRUE, 0, kSmall, bytes.get(), 0, nullptr, nullptr);
  }
  {
    const std::unique_ptr<char[]> bytes(new char[kLarge]);
    cl_event event = nullptr;
    clEnqueueReadBuffer(objects.queue, objects.large, CL_FALSE, 0, kLarge, bytes.get(), 0, nullptr, &event);
    if (event != nullptr) clWaitForEvents(1, &event);
    clFinish(objects.queue);
    release(event);
  }
  const std::size_t origin[3] = {0, 0, 0}, region[3] = {16, 4, 1};
  const std::unique_ptr<char[]> rows(new char[16 * 4]);
  clEnqueueReadBufferRect(objects.queue, objects.small, CL_TRUE, origin, origin, region, 32, 0, 16, 0, rows.get(), 0,
                          nullptr, nullptr);
  if (void* mapped = clEnqueueMapBuffer(objects.queue, objects.large, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 64, kSmall,
                                        0, nullptr, nullptr, nullptr)) {
    clEnqueueUnmapMemObject(objects.queue, objects.large, mapped, 0, nullptr, nullptr);
  }
  clFinish(objects.queue);
}

// Reads that may be short.
void read_content(cl_device_id device) {
  const Objects objects(device);
  remotecl_set_content_size(objects.large, objects.small);
  const int pattern = 1;
  clEnqueueFillBuffer(objects.queue, objects.small, &pattern, sizeof pattern, 0, kSmall, 0, nullptr, nullptr);
  clEnqueueFillBuffer(objects.queue, objects.large, &pattern, sizeof pattern, 0, kLarge, 0, nullptr, nullptr);
  for (int i = 0; i < 2; ++i) {
    const std::unique_ptr<char[]> bytes(new char[kLarge]);
    clEnqueueReadBuffer(objects.queue, objects.large, CL_TRUE, 0, kLarge, bytes.get(), 0, nullptr, nullptr);
  }
  const std::unique_ptr<char[]> first(new char[kSmall]), second(new char[kLarge]);
  cl_event events[2] = {};
  clEnqueueReadBuffer(objects.queue, objects.large, CL_FALSE, 0, kSmall, first.get(), 0, nullptr, &events[0]);
  clEnqueueReadBuffer(objects.queue, objects.large, CL_FALSE, 0, kLarge, second.get(), 0, nullptr, &events[1]);
  clFinish(objects.queue);
  for (const cl_event event : events) {
    if (event != nullptr) clWaitForEvents(1, &event);
    release(event);
  }
}

void ask_kernel(cl_device_id device, cl_kernel kernel) {
  char text[64];
  cl_uint count = 0;
  std::size_t sizes[3];
  cl_ulong bytes = 0;
  clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof text, text, nullptr);
  clGetKernelInfo(kernel, CL_KERNEL_ATTRIBUTES, sizeof text, text, nullptr);
  clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  for (cl_uint i = 0; i < count && i < 8; ++i) {
    clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_NAME, sizeof text, text, nullptr);
    clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof text, text, nullptr);
  }
  clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof sizes[0], sizes, nullptr);
  clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof sizes, sizes, nullptr);
  clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  const std::size_t input = 64;
  clGetKernelSubGroupInfo(kernel, device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof input, &input,
                          sizeof sizes[0], sizes, nullptr);
}

void run_kernels(cl_device_id device) {
  const Objects objects(device, CL_QUEUE_PROFILING_ENABLE);
  const char* source = "kernel void k(global int* data, int value) {}";
  cl_program program = clCreateProgramWithSource(objects.context, 1, &source, nullptr, nullptr);
  if (program == nullptr) return;
  clBuildProgram(program, 1, &device, "", nullptr, nullptr);
  char log[256];
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, nullptr);
  std::size_t size = 0;
  clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof log, log, &size);
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) == CL_SUCCESS && size < 65536) {
    const std::unique_ptr<unsigned char[]> binary(new unsigned char[size]);
    unsigned char* to = binary.get();
    clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr);
  }
  cl_kernel kernels[8] = {};
  cl_uint count = 0;
  if (clCreateKernelsInProgram(program, 8, kernels, &count) != CL_SUCCESS) count = 0;
  for (cl_uint i = 0; i < count; ++i) {
    ask_kernel(device, kernels[i]);
    const int value = 1;
    clSetKernelArg(kernels[i], 0, sizeof objects.large, &objects.large);
    clSetKernelArg(kernels[i], 1, sizeof value, &value);
    const std::size_t global = 64;
    cl_event event = nullptr;
    clEnqueueNDRangeKernel(objects.queue, kernels[i], 1, nullptr, &global, nullptr, 0, nullptr, &event);
    if (event != nullptr) {
      clWaitForEvents(1, &event);
      cl_ulong time = 0;
      clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr);
    }
    release(event);
  }
  clFinish(objects.queue);
  for (cl_uint i = 0; i < count; ++i) clReleaseKernel(kernels[i]);
  clReleaseProgram(program);
}

void move_images(cl_device_id device) {
  const Objects objects(device);
  cl_uint count = 0;
  clGetSupportedImageFormats(objects.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count);
  const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = 160;
  description.image_height = 160;
  cl_mem image = clCreateImage(objects.context, CL_MEM_READ_WRITE, &format, &description, nullptr, nullptr);
  if (image == nullptr) return;
  const std::size_t origin[3] = {0, 0, 0}, part[3] = {4, 4, 1}, whole[3] = {160, 160, 1};
  const unsigned color[4] = {1, 2, 3, 4};
  clEnqueueFillImage(objects.queue, image, color, origin, whole, 0, nullptr, nullptr);
  {
    const std::unique_ptr<char[]> pixels(new char[4 * 4 * 4]());
    clEnqueueWriteImage(objects.queue, image, CL_TRUE, origin, part, 0, 0, pixels.get(), 0, nullptr, nullptr);
    clEnqueueFillImage(objects.queue, image, color, origin, whole, 0, nullptr, nullptr);
    clEnqueueReadImage(objects.queue, image, CL_TRUE, origin, part, 0, 0, pixels.get(), 0, nullptr, nullptr);
  }
  {
    const std::unique_ptr<char[]> pixels(new char[160 * 1024]);
    clEnqueueReadImage(objects.queue, image, CL_TRUE, origin, whole, 1024, 0, pixels.get(), 0, nullptr, nullptr);
  }
  clReleaseMemObject(image);
}

void wait_for_events(cl_device_id device) {
  const Objects objects(device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
  cl_event user = clCreateUserEvent(objects.context, nullptr);
  if (user == nullptr) return;
  const int pattern = 1;
  cl_event filled = nullptr, marked = nullptr;
  clEnqueueFillBuffer(objects.queue, objects.small, &pattern, sizeof pattern, 0, kSmall, 1, &user, &filled);
  clEnqueueMarkerWithWaitList(objects.queue, 0, nullptr, &marked);
  clSetUserEventStatus(user, CL_COMPLETE);
  for (const cl_event event : {filled, marked}) {
    if (event == nullptr) continue;
    clFlush(objects.queue);
    cl_int status = 0;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    clWaitForEvents(1, &event);
    cl_ulong time = 0;
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof time, &time, nullptr);
  }
  clFinish(objects.queue);
  release(filled);
  release(marked);
  release(user);
}

void share_memory(cl_device_id device) {
  const Objects objects(device);
  void* pointer = clSVMAlloc(objects.context, CL_MEM_READ_WRITE, 4096, 0);
  if (pointer == nullptr) return;
  if (clEnqueueSVMMap(objects.queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, pointer, 4096, 0, nullptr, nullptr) ==
      CL_SUCCESS) {
    clEnqueueSVMUnmap(objects.queue, pointer, 0, nullptr, nullptr);
  }
  char bytes[64] = {};
  clEnqueueSVMMemcpy(objects.queue, CL_TRUE, pointer, bytes, sizeof bytes, 0, nullptr, nullptr);
  clFinish(objects.queue);
  clSVMFree(objects.context, pointer);
}

void divide_device(cl_device_id device) {
  const cl_device_partition_property properties[] = {CL_DEVICE_PARTITION_EQUALLY, 2, 0};
  cl_device_id parts[4] = {};
  cl_uint count = 0;
  clCreateSubDevices(device, properties, 0, nullptr, &count);
  if (clCreateSubDevices(device, properties, 4, parts, &count) != CL_SUCCESS) return;
  for (cl_uint i = 0; i < count && i < 4; ++i) {
    if (parts[i] == nullptr) continue;
    ask_device(parts[i]);
    clReleaseDevice(parts[i]);
  }
}

void record_commands(cl_device_id device) {
  const Objects objects(device);
  cl_command_queue queue = objects.queue;
  cl_command_buffer_khr commands = icd::create_command_buffer(1, &queue, nullptr, nullptr);
  if (commands == nullptr) return;
  const int pattern = 1;
  icd::command_fill_buffer(commands, nullptr, objects.small, &pattern, sizeof pattern, 0, kSmall, 0, nullptr, nullptr,
                           nullptr);
  icd::finalize_command_buffer(commands);
  for (int i = 0; i < 2; ++i) icd::enqueue_command_buffer(1, &queue, commands, 0, nullptr, nullptr);
  cl_command_buffer_state_khr state = 0;
  icd::get_command_buffer_info(commands, CL_COMMAND_BUFFER_STATE_KHR, sizeof state, &state, nullptr);
  char bytes[kSmall];
  clEnqueueReadBuffer(queue, objects.small, CL_TRUE, 0, kSmall, bytes, 0, nullptr, nullptr);
  clFinish(queue);
  icd::release_command_buffer(commands);
}

void trace_commands(cl_device_id device) {
  char* error = nullptr;
  const bool traces = remotecl_trace_start(1000, &error) == 0;
  release_json(error);
  move_buffers(device);
  if (!traces) return;
  release_json(remotecl_trace_stop(0.05));
}

}  // namespace

const Program kPrograms[] = {ask_device,      move_buffers, read_content,  run_kernels,     move_images,
                             wait_for_events, share_memory, divide_device, record_commands, trace_commands};
const std::size_t kProgramCount = std::size(kPrograms);

}  // namespace remotecl::fuzz
