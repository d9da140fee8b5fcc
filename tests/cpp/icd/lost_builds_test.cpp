// Programs that are built after a server was lost, for those that are left.
#include <string>
#include <vector>

#include "icd/lost_server.h"

namespace remotecl::testing {
namespace {

// What has become of a program on the lost server, and that its kernels run on the other one.
class BuildAfterLossTest : public LostServerTest {
 protected:
  void lose_server() {
    kill_server();
    EXPECT_EQ(clFinish(queue_), CL_DEVICE_NOT_AVAILABLE);
  }
  cl_build_status build_status(cl_program program, cl_device_id on) {
    return value<cl_build_status>(clGetProgramBuildInfo, program, on, CL_PROGRAM_BUILD_STATUS);
  }
  void expect_lost_status(cl_program program) {
    EXPECT_EQ(build_status(program, device()), CL_BUILD_ERROR);
    std::vector<char> log(4096);
    check(clGetProgramBuildInfo(program, device(), CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr));
    EXPECT_NE(std::string(log.data()).find(Environment::get().daemon(index_).address()), std::string::npos)
        << log.data();
  }
  void expect_runs(cl_program program) {
    EXPECT_EQ(build_status(program, survivor()), CL_BUILD_SUCCESS);
    const Owned<cl_mem> data = make_buffer(context_, std::vector<int>(64, 9));
    const Owned<cl_kernel> add = make_kernel(program, "add");
    EXPECT_NE(value<std::size_t>(clGetKernelWorkGroupInfo, add.get(), survivor(), CL_KERNEL_WORK_GROUP_SIZE), 0u);
    check(set_arg(add, 0, data));
    check(set_arg(add, 1, 1));
    EXPECT_EQ(run(queue_, add, 64), CL_DEVICE_NOT_AVAILABLE);
    EXPECT_EQ(run(other_, add, 64), CL_SUCCESS);
    EXPECT_EQ(read<int>(other_, data, 64), std::vector<int>(64, 10));
  }
  std::vector<std::vector<unsigned char>> binaries_of(cl_program program) {
    std::size_t sizes[2] = {};
    check(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, nullptr));
    std::vector<std::vector<unsigned char>> binaries{std::vector<unsigned char>(sizes[0]),
                                                     std::vector<unsigned char>(sizes[1])};
    unsigned char* to[2] = {binaries[0].data(), binaries[1].data()};
    check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, to, nullptr));
    return binaries;
  }
};

TEST_F(BuildAfterLossTest, Source) {
  lose_server();
  const Owned<cl_program> program = make_program(context_, kSource);
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  expect_lost_status(program);
  expect_runs(program);
  const auto binaries = binaries_of(program);
  EXPECT_FALSE(binaries[1].empty());
  EXPECT_EQ(binaries[0], binaries[1]) << "programs keep binaries under what a device is";
  // What is wrong with the program is said as before.
  const Owned<cl_program> wrong = make_program(context_, "kernel void k() { nonsense }");
  EXPECT_EQ(clBuildProgram(wrong, 0, nullptr, nullptr, nullptr, nullptr), CL_BUILD_PROGRAM_FAILURE);
}

TEST_F(BuildAfterLossTest, Binaries) {
  const auto binaries = binaries_of(program_);
  lose_server();
  const cl_device_id devices[2] = {device(), survivor()};
  const unsigned char* from[2] = {binaries[0].data(), binaries[1].data()};
  const std::size_t sizes[2] = {binaries[0].size(), binaries[1].size()};
  cl_int each[2] = {}, error = CL_SUCCESS;
  const Owned<cl_program> program(clCreateProgramWithBinary(context_, 2, devices, sizes, from, each, &error));
  EXPECT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(each[0], CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ(each[1], CL_SUCCESS);
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  expect_lost_status(program);
  expect_runs(program);
  EXPECT_EQ(binaries_of(program_)[1], binaries[1]);
}

TEST_F(BuildAfterLossTest, CompileAndLink) {
  const Owned<cl_program> older = make_program(context_, "int unused(int x) { return x; }");
  EXPECT_EQ(clCompileProgram(older, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  lose_server();
  const Owned<cl_program> newer = make_program(context_, kSource);
  EXPECT_EQ(clCompileProgram(newer, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  expect_lost_status(newer);
  const cl_program inputs[2] = {older, newer};
  cl_int error = CL_SUCCESS;
  const Owned<cl_program> linked(clLinkProgram(context_, 0, nullptr, nullptr, 2, inputs, nullptr, nullptr, &error));
  EXPECT_EQ(error, CL_SUCCESS);
  ASSERT_NE(linked, nullptr);
  expect_lost_status(linked);
  expect_runs(linked);
}

TEST_F(BuildAfterLossTest, NothingIsBuiltIfAllAreLost) {
  const Owned<cl_context> context = make_context({device()});
  const Owned<cl_program> before = build(context, kSource);
  lose_server();
  const Owned<cl_program> program = make_program(context, kSource);
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ(clCompileProgram(program, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr),
            CL_DEVICE_NOT_AVAILABLE);
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(clLinkProgram(context, 0, nullptr, nullptr, 1, before.pointer(), nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_DEVICE_NOT_AVAILABLE);
  std::size_t size = 0;
  const bool has_recipe = Environment::get().is_pocl();  // which no server is asked for
  EXPECT_EQ(clGetProgramInfo(before, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr),
            has_recipe ? CL_SUCCESS : CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ(size != 0, has_recipe);
}

}  // namespace
}  // namespace remotecl::testing
