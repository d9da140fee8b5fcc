#pragma once

#include <gtest/gtest.h>

#include <numeric>

#include "icd/environment.h"
#include "icd/opencl.h"

namespace remotecl::testing {

inline constexpr char kSource[] = R"(
kernel void add(global int* data, int value) { data[get_global_id(0)] += value; }
kernel void twice(global const int* from, global int* to) { to[get_global_id(0)] = 2 * from[get_global_id(0)]; }
kernel void sum_local(global int* data, local int* scratch) {
  scratch[get_local_id(0)] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  int sum = 0;
  for (int i = 0; i < get_local_size(0); i++) sum += scratch[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = sum;
}
kernel __attribute__((reqd_work_group_size(4, 1, 1))) void by_four(global int* data) { data[get_global_id(0)] = get_local_size(0); }
kernel __attribute__((reqd_work_group_size(4, 2, 1))) void by_four_and_two(global int* data) { data[get_global_id(0)] = get_local_size(1); }
kernel void spin(global int* data, int rounds) {
  volatile global int* cell = data + get_global_id(0);
  for (int i = 0; i < rounds; i++) *cell = *cell + 1;
}
)";

// A context over two servers, a queue on each, and the kernels above.
class RemoteTest : public ::testing::Test {
 protected:
  cl_device_id device(std::size_t index = 0) { return Environment::get().devices().at(index); }

  Owned<cl_context> context_ = make_context({device(0), device(1)});
  Owned<cl_command_queue> queue_ = make_queue(context_, device(0));
  Owned<cl_command_queue> other_ = make_queue(context_, device(1));

  // Built when first asked for.
  cl_program program() {
    if (program_ == nullptr) program_ = build(context_, kSource);
    return program_;
  }
  Owned<cl_kernel> kernel(const char* name) { return make_kernel(program(), name); }
  static std::vector<int> numbers(std::size_t count, int first = 0) {
    std::vector<int> result(count);
    std::iota(result.begin(), result.end(), first);
    return result;
  }

 private:
  Owned<cl_program> program_;
};

}  // namespace remotecl::testing
