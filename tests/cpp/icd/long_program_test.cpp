// Programs that are longer than a message to a server may be.
#include <fstream>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

class LongProgramTest : public RemoteTest {
 protected:
  // The connections go on, with what is in them.
  void TearDown() override {
    for (const auto* queue : {&queue_, &other_}) EXPECT_EQ(read<int>(*queue, buffer_, 8), numbers(8));
  }
  void expect_refused(cl_program program, cl_int error) {
    EXPECT_EQ(error, CL_OUT_OF_RESOURCES);
    for (const cl_device_id on : {device(0), device(1)}) {
      EXPECT_EQ(value<cl_build_status>(clGetProgramBuildInfo, program, on, CL_PROGRAM_BUILD_STATUS), CL_BUILD_ERROR);
      EXPECT_NE(text(clGetProgramBuildInfo, program, on, CL_PROGRAM_BUILD_LOG).find("; include fewer files, and"),
                std::string::npos);
    }
  }

  const std::string text_ = std::string(std::size_t{65} << 20, ' ');
  const Owned<cl_mem> buffer_ = make_buffer(context_, numbers(8));
};

TEST_F(LongProgramTest, AreNotMadeOfSources) {
  const char* source = text_.c_str();
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(clCreateProgramWithSource(context_, 1, &source, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_OUT_OF_RESOURCES);
}

TEST_F(LongProgramTest, AreNotMadeOfBinaries) {
  const cl_device_id on = device();
  const std::size_t size = text_.size();
  const auto* binary = reinterpret_cast<const unsigned char*>(text_.data());
  cl_int status = CL_SUCCESS, error = CL_SUCCESS;
  EXPECT_EQ(clCreateProgramWithBinary(context_, 1, &on, &size, &binary, &status, &error), nullptr);
  EXPECT_EQ(error, CL_OUT_OF_RESOURCES);
}

TEST_F(LongProgramTest, DoNotIncludeSoMuch) {
  const std::string file = Environment::get().folder() + "/long.h";
  std::ofstream(file) << text_;
  const Owned<cl_program> program = make_program(context_, "#include \"long.h\"\nkernel void f() {}");
  const std::string options = "-I " + Environment::get().folder();
  expect_refused(program, clBuildProgram(program, 0, nullptr, options.c_str(), nullptr, nullptr));
  expect_refused(program,
                 clCompileProgram(program, 0, nullptr, options.c_str(), 0, nullptr, nullptr, nullptr, nullptr));
  std::ofstream(file) << "int one() { return 1; }";
  check(clBuildProgram(program, 0, nullptr, options.c_str(), nullptr, nullptr));
}

}  // namespace
}  // namespace remotecl::testing
