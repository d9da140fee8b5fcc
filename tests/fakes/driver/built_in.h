#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/driver/objects.h"

// Kernels that compute something, known by their whole names. All others change a byte of every 512 of each buffer
// that they are given.
namespace remotecl::fake {

// "copy_mm;fill_mv;...": what a custom device has.
const std::string& built_in_names();
// The kernels that a program's text names, in alphabetical order.
std::vector<std::string> kernels_in(const std::string& code);

struct Launch {
  std::vector<Held<_cl_mem>> memory;  // the buffers and images among its arguments, in their order
  std::vector<std::int32_t> numbers;  // its ints, likewise
  std::size_t first = 0, count = 0;   // work items
};
// Whether the kernel has that name and `launch` what it needs.
bool computes(std::string_view kernel, const Launch& launch);
// Whether the kernel computes something, and only reads that buffer or image: its last one has the result.
bool only_reads(std::string_view kernel, std::size_t argument);
void compute(std::string_view kernel, const Launch& launch);

}  // namespace remotecl::fake
