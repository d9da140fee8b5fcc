#pragma once

#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <array>
#include <cstdint>
#include <vector>

#include "icd/choice.h"
#include "icd/opencl.h"

namespace remotecl::testing {

// Objects of one device for calls that are mostly valid and often slightly wrong. What a driver answers depends on the
// call alone, so that two drivers can be compared, and one that crashed can go on with the next call.
class Mistakes {
 public:
  explicit Mistakes(cl_device_id device);

  struct Call {
    const char* name;
    cl_int (Mistakes::*make)(Choice& choice);
  };
  static const Call& call_of(std::uint64_t seed);
  // The error of the call, or of the command that it enqueued.
  cl_int make(std::uint64_t seed);

 private:
  static constexpr std::size_t kSize = 4096;  // of every buffer

  // Waits for what was enqueued. An error of the call comes before one of the command.
  cl_int settle(cl_int code, cl_event event = nullptr);
  std::size_t offset(Choice& choice);
  std::size_t size(Choice& choice);
  cl_mem buffer(Choice& choice);
  cl_mem image(Choice& choice);
  // Few events, of this or of another context, ended or failed or none; `list` may not fit `count`.
  struct Waits {
    std::vector<cl_event> events;
    cl_uint count;
    const cl_event* list;
  };
  Waits waits(Choice& choice);
  char* host() { return host_.data() + host_.size() / 2; }

  // Buffers and shared virtual memory.
  cl_int create_buffer(Choice& choice);
  cl_int create_sub_buffer(Choice& choice);
  cl_int read_buffer(Choice& choice);
  cl_int write_buffer(Choice& choice);
  cl_int copy_buffer(Choice& choice);
  cl_int fill_buffer(Choice& choice);
  cl_int read_rect(Choice& choice);
  cl_int copy_rect(Choice& choice);
  cl_int map_buffer(Choice& choice);
  cl_int migrate(Choice& choice);
  cl_int svm_alloc(Choice& choice);
  cl_int svm_copy(Choice& choice);
  cl_int svm_fill(Choice& choice);
  cl_int svm_map(Choice& choice);

  // Images and samplers.
  struct Region {
    std::array<std::size_t, 3> origin, size;
  };
  Region region(Choice& choice);
  cl_int create_image(Choice& choice);
  cl_int create_sampler(Choice& choice);
  cl_int read_image(Choice& choice);
  cl_int write_image(Choice& choice);
  cl_int copy_image(Choice& choice);
  cl_int copy_image_to_buffer(Choice& choice);
  cl_int copy_buffer_to_image(Choice& choice);
  cl_int fill_image(Choice& choice);
  cl_int map_image(Choice& choice);
  cl_int image_formats(Choice& choice);

  // Kernels, programs, queues, devices.
  struct Range {
    cl_uint dimensions;
    std::array<std::size_t, 3> offset, global, local;
    bool has_local;
  };
  Range range(Choice& choice);
  cl_int launch(cl_kernel kernel, const Range& range);
  cl_int run_range(Choice& choice);
  cl_int run_task(Choice& choice);
  cl_int set_value(Choice& choice);
  cl_int set_memory(Choice& choice);
  cl_int set_image(Choice& choice);
  cl_int set_sampler(Choice& choice);
  cl_int set_local(Choice& choice);
  cl_int set_svm(Choice& choice);
  cl_int wait_for(Choice& choice);
  cl_int work_group_info(Choice& choice);
  cl_int sub_group_info(Choice& choice);
  cl_int suggested_size(Choice& choice);
  cl_int build_options(Choice& choice);
  cl_int built_in_kernels(Choice& choice);
  cl_int create_queue(Choice& choice);
  cl_int sub_devices(Choice& choice);

  // Programs, and what outlives what.
  cl_int load_binary(Choice& choice);
  cl_int link_programs(Choice& choice);
  cl_int release_early(Choice& choice);
  cl_int view_buffer(Choice& choice);

  static const Call kCalls[];
  static const std::size_t kCallCount;

  cl_device_id device_;
  Owned<cl_context> context_, foreign_context_;
  Owned<cl_command_queue> queue_, foreign_queue_;
  Owned<cl_mem> plain_, read_only_, write_only_, part_, foreign_;
  std::vector<Owned<cl_mem>> images_;
  cl_sampler sampler_ = nullptr;  // as shared memory: lives as long as the process
  char* svm_ = nullptr;
  Owned<cl_program> program_;
  Owned<cl_kernel> add_, by_four_, local_, looks_, paints_, values_;
  Owned<cl_event> ended_, failed_, foreign_event_;
  cl_ulong local_size_ = 0;
  std::vector<char> host_ = std::vector<char>(4u << 20, 1);
};

}  // namespace remotecl::testing
