// Makes calls that may be wrong on a platform: mistaken_client PLATFORM SEED FIRST END. Says of each its number and
// name before it, and its error behind.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "icd/mistakes.h"

namespace remotecl::testing {
namespace {

cl_device_id find_device(bool is_remote) {
  cl_uint count = 0;
  check(clGetPlatformIDs(0, nullptr, &count));
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr));
  for (cl_platform_id platform : platforms) {
    if ((text(clGetPlatformInfo, platform, cl_uint{CL_PLATFORM_NAME}) == "remotecl") != is_remote) continue;
    cl_device_id device = nullptr;
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
    return device;
  }
  throw std::runtime_error("no such platform");
}

void make_calls(bool is_remote, std::uint64_t seed, std::uint64_t first, std::uint64_t end) {
  // Never destroyed: drivers take themselves down at exit, in any order.
  Mistakes& mistakes = *new Mistakes(find_device(is_remote));
  for (std::uint64_t number = first; number < end; ++number) {
    const std::uint64_t own = seed * 1'000'003 + number;
    std::printf("%llu %s ", static_cast<unsigned long long>(number), Mistakes::call_of(own).name);
    std::fflush(stdout);
    std::printf("%d\n", mistakes.make(own));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    remotecl::testing::make_calls(std::string(argv[1]) == "remotecl", std::strtoull(argv[2], nullptr, 10),
                                  std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(1);
  }
  std::fflush(nullptr);
  std::_Exit(0);
}
