#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "icd/fixture.h"

namespace remotecl::testing {

// The custom device is the first one. A program that needs others says so before its daemons start.
inline std::string fake_devices = "custom=1;gpu=1,accelerator=1";

// What the daemons' fake driver does from now on (tests/fakes/README.md). Both daemons read the file.
inline void command_driver(const char* words) {
  const std::string file = REMOTECL_FAKE_DRIVER_WORDS;
  std::ofstream(file + ".new") << fake_devices << ',' << words;
  std::rename((file + ".new").c_str(), file.c_str());
}

// Two daemons with a device of each type, whose driver does as it is told.
class FakeDriverTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 1024;

  FakeDriverTest() { command_driver(""); }

  static std::vector<cl_device_id> devices(cl_device_type type) {
    cl_uint count = 0;
    check(clGetDeviceIDs(Environment::get().remote_platform(), type, 0, nullptr, &count));
    std::vector<cl_device_id> found(count);
    check(clGetDeviceIDs(Environment::get().remote_platform(), type, count, found.data(), nullptr));
    return found;
  }
  static Owned<cl_program> built_in(cl_context context, cl_device_id device, const char* names) {
    cl_int error = CL_SUCCESS;
    Owned<cl_program> program(clCreateProgramWithBuiltInKernels(context, 1, &device, names, &error));
    check(error);
    return program;
  }
  template <class... Arguments>
  static void set_arguments(cl_kernel kernel, const Arguments&... arguments) {
    cl_uint index = 0;
    (check(set_arg(kernel, index++, arguments)), ...);
  }
};

inline int run_with_fake_daemons(int count, int argc, char** argv) {
  ::setenv("REMOTECL_LOG", "off", 1);
  ::testing::InitGoogleTest(&argc, argv);
  command_driver("");
  const std::vector<std::string> environment{"OCL_ICD_VENDORS=" REMOTECL_FAKE_DRIVER, "OCL_ICD_PLATFORM_SORT=none",
                                             "REMOTECL_FAKE_DRIVER=@" REMOTECL_FAKE_DRIVER_WORDS};
  ::testing::AddGlobalTestEnvironment(new Environment(count, environment));
  return RUN_ALL_TESTS();
}

inline int run_with_two_fake_daemons(int argc, char** argv) { return run_with_fake_daemons(2, argc, argv); }

}  // namespace remotecl::testing
