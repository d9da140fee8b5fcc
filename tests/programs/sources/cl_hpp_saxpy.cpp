// A sum of vectors through Khronos' C++ bindings, with events, a mapped buffer and a sub-buffer.
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <chrono>
#include <cstdio>
#include <vector>

int main() {
  const cl::Device device = cl::Device::getDefault();
  const cl::Context context(device);
  cl::CommandQueue queue(context, device);
  const cl::Program program(context,
                            "kernel void saxpy(global float* y, global const float* x, float a) {"
                            "  int i = get_global_id(0); y[i] += a * x[i]; }",
                            true);
  cl::KernelFunctor<cl::Buffer, cl::Buffer, float> saxpy(program, "saxpy");
  constexpr std::size_t kCount = 1 << 16;
  std::vector<float> x(kCount, 2.0f), y(kCount, 1.0f);
  cl::Buffer xs(context, x.begin(), x.end(), true), ys(context, y.begin(), y.end(), false);
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 200; ++round) saxpy(cl::EnqueueArgs(queue, cl::NDRange(kCount)), ys, xs, 0.5f);
  cl_buffer_region region{4096, 4096};
  cl::Buffer part = ys.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region);
  saxpy(cl::EnqueueArgs(queue, cl::NDRange(1024)), part, xs, 1.0f);
  const float* mapped =
      static_cast<float*>(queue.enqueueMapBuffer(ys, CL_TRUE, CL_MAP_READ, 0, kCount * sizeof(float)));
  const float first = mapped[0], inner = mapped[1500];
  queue.enqueueUnmapMemObject(ys, const_cast<float*>(mapped));
  queue.finish();
  std::printf("seconds: %f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  std::printf("%.1f %.1f\n", first, inner);
}
