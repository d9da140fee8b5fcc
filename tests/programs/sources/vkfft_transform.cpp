// A transform there and back by VkFFT's OpenCL back end, from C++.
#define VKFFT_BACKEND 3
#include <vkFFT.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  cl_platform_id platform;
  cl_device_id device;
  clGetPlatformIDs(1, &platform, nullptr);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  cl_int error = 0;
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  constexpr std::uint64_t kSize = 4096;
  std::uint64_t bytes = kSize * 2 * sizeof(float);
  std::vector<float> host(2 * kSize), result(2 * kSize);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = std::sin(0.01f * i);
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &error);
  VkFFTConfiguration configuration = {};
  configuration.FFTdim = 1;
  configuration.size[0] = kSize;
  configuration.device = &device;
  configuration.context = &context;
  configuration.buffer = &buffer;
  configuration.bufferSize = &bytes;
  configuration.normalize = 1;
  VkFFTApplication application = {};
  if (initializeVkFFT(&application, configuration) != VKFFT_SUCCESS) return 1;
  VkFFTLaunchParams parameters = {};
  parameters.commandQueue = &queue;
  const auto begin = std::chrono::steady_clock::now();
  clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, bytes, host.data(), 0, nullptr, nullptr);
  for (int round = 0; round < 50; ++round) {
    VkFFTAppend(&application, -1, &parameters);
    VkFFTAppend(&application, 1, &parameters);
  }
  clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, result.data(), 0, nullptr, nullptr);
  std::printf("seconds: %f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  float worst = 0;
  for (std::size_t i = 0; i < host.size(); ++i) worst = std::fmax(worst, std::fabs(host[i] - result[i]));
  std::printf("%d\n", worst < 1e-3f);
  deleteVkFFT(&application);
}
