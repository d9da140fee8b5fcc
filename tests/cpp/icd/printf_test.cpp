// What kernels print, on this process's standard output.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

constexpr char kPrinting[] = R"(
kernel void hello(int number) { printf("hello %d\n", number); }
kernel void spell(int count) { for (int i = 0; i < count; i++) printf("%07d\n", i); }
kernel void spin_and_say(global int* data, int rounds) {
  volatile global int* cell = data;
  for (int i = 0; i < rounds; i++) *cell = *cell + 1;
  printf("spun\n");
}
)";

// Standard output goes to a file while this lives.
class OutputFile {
 public:
  OutputFile() : path_(Environment::get().folder() + "/stdout"), real_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int file = ::open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::close(file);
  }
  ~OutputFile() {
    std::fflush(stdout);
    ::dup2(real_, STDOUT_FILENO);
    ::close(real_);
  }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

 private:
  const std::string path_;
  const int real_;
};

class PrintfTest : public RemoteTest {
 protected:
  Owned<cl_kernel> printing(const char* name) {
    if (printing_ == nullptr) printing_ = build(context_, kPrinting);
    return make_kernel(printing_, name);
  }
  Owned<cl_program> printing_;
};

TEST_F(PrintfTest, TextIsThereWhenFinishReturns) {
  const Owned<cl_kernel> hello = printing("hello");
  OutputFile output;
  std::string expected;
  for (const cl_command_queue queue : {queue_.get(), other_.get()}) {
    for (int i = 0; i < 3; ++i) {
      check(set_arg(hello, 0, i));
      check(run(queue, hello, 1));
      expected += "hello " + std::to_string(i) + "\n";
    }
    check(clFinish(queue));
    ASSERT_EQ(output.text(), expected);
  }
}

TEST_F(PrintfTest, TextIsThereWhenTheEventEnds) {
  const Owned<cl_kernel> hello = printing("hello");
  const Owned<cl_command_queue> queue = make_queue(context_, device(1), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  OutputFile output;
  for (int i = 0; i < 20; ++i) {
    Owned<cl_event> done;
    check(set_arg(hello, 0, i));
    check(run(queue, hello, 1, {}, done.out()));
    check(clWaitForEvents(1, done.pointer()));
    ASSERT_TRUE(output.text().ends_with("hello " + std::to_string(i) + "\n")) << output.text();
  }
}

TEST_F(PrintfTest, ArgumentsAndBuffersAreThoseOfTheCall) {
  const Owned<cl_kernel> hello = printing("hello");
  const Owned<cl_event> gate = make_user_event(context_);
  OutputFile output;
  check(set_arg(hello, 0, 1));
  check(run(queue_, hello, 1, {gate}));
  check(set_arg(hello, 0, 2));
  check(run(queue_, hello, 1));
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(output.text(), "hello 1\nhello 2\n");
}

TEST_F(PrintfTest, MegabytesArriveWhole) {
  constexpr int kLines = 400'000;
  const Owned<cl_kernel> spell = printing("spell");
  check(set_arg(spell, 0, kLines));
  OutputFile output;
  check(run(queue_, spell, 1));
  check(clFinish(queue_));
  const std::string text = output.text();
  ASSERT_EQ(text.size(), std::size_t{kLines} * 8);
  for (const int line : {0, 1, 123'456, kLines - 1}) {
    char expected[16];
    std::snprintf(expected, sizeof expected, "%07d\n", line);
    EXPECT_EQ(text.substr(static_cast<std::size_t>(line) * 8, 8), expected);
  }
}

TEST_F(PrintfTest, HeaderThatPrintsIsFound) {
  const std::string folder = Environment::get().folder();
  std::ofstream(folder + "/say.h") << "void say(int n) { printf(\"said %d\\n\", n); }\n";
  const Owned<cl_program> program =
      build(context_, "#include \"say.h\"\nkernel void k() { say(5); }", ("-I " + folder).c_str());
  const Owned<cl_kernel> kernel = make_kernel(program, "k");
  OutputFile output;
  check(run(other_, kernel, 1));
  check(clFinish(other_));
  EXPECT_EQ(output.text(), "said 5\n");
}

TEST_F(PrintfTest, BinaryThatPrintsIsFound) {
  const Owned<cl_program> source = build(context_, kPrinting);
  const auto sizes = list<std::size_t>(clGetProgramInfo, source.get(), CL_PROGRAM_BINARY_SIZES);
  std::vector<unsigned char> binary(sizes.at(0)), second(sizes.at(1));
  unsigned char* to[] = {binary.data(), second.data()};
  check(clGetProgramInfo(source, CL_PROGRAM_BINARIES, sizeof to, to, nullptr));
  const cl_device_id on = device(0);
  const unsigned char* from = binary.data();
  const std::size_t size = binary.size();
  cl_int error = CL_SUCCESS;
  const Owned<cl_program> program(clCreateProgramWithBinary(context_, 1, &on, &size, &from, nullptr, &error));
  check(error);
  check(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr));
  const Owned<cl_kernel> hello = make_kernel(program, "hello");
  check(set_arg(hello, 0, 9));
  OutputFile output;
  check(run(queue_, hello, 1));
  check(clFinish(queue_));
  EXPECT_EQ(output.text(), "hello 9\n");
}

TEST_F(PrintfTest, KernelThatDoesNotRunPrintsNothing) {
  const Owned<cl_kernel> hello = printing("hello");
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> done;
  check(set_arg(hello, 0, 1));
  OutputFile output;
  check(run(queue_, hello, 1, {gate}, done.out()));
  check(clFlush(queue_));
  check(clSetUserEventStatus(gate, -5));
  EXPECT_EQ(clWaitForEvents(1, done.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  clFinish(queue_);
  EXPECT_EQ(output.text(), "");
}

TEST_F(PrintfTest, LongPrintingKernelHoldsNoOtherQueueUp) {
  const Owned<cl_kernel> spin = printing("spin_and_say");
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(4, 0));
  const Owned<cl_mem> unrelated = make_buffer(context_, numbers(16));
  const Owned<cl_command_queue> beside = make_queue(context_, device(0));
  check(set_arg(spin, 0, buffer));
  check(set_arg(spin, 1, 300'000'000));
  OutputFile output;
  Owned<cl_event> done;
  check(run(queue_, spin, 1, {}, done.out()));
  check(clFlush(queue_));
  EXPECT_EQ(read<int>(beside, unrelated, 16), numbers(16));
  EXPECT_GT(status(done), CL_COMPLETE);
  check(clFinish(queue_));
  EXPECT_EQ(output.text(), "spun\n");
}

TEST_F(PrintfTest, ClosedStandardOutputIsNoError) {
  const Owned<cl_kernel> hello = printing("hello");
  check(set_arg(hello, 0, 1));
  std::fflush(stdout);
  const int real = ::dup(STDOUT_FILENO);
  ::close(STDOUT_FILENO);
  const cl_int ran = run(queue_, hello, 1), finished = clFinish(queue_);
  ::dup2(real, STDOUT_FILENO);
  ::close(real);
  std::clearerr(stdout);
  EXPECT_EQ(ran, CL_SUCCESS);
  EXPECT_EQ(finished, CL_SUCCESS);
}

}  // namespace
}  // namespace remotecl::testing
