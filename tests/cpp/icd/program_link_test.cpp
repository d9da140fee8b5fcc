// Compiling and linking, on one server and on several.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

constexpr char kMain[] = R"(
#include "limits/step.h"
int next(int);
kernel void walk(global int* data) { data[get_global_id(0)] = next(data[get_global_id(0)]) + STEP; }
)";
constexpr char kNext[] = "int next(int value) { return value + 1; }";

class ProgramLinkTest : public RemoteTest {
 protected:
  using Programs = std::vector<cl_program>;

  cl_int compile(cl_program program, const char* options = "", cl_program header = nullptr,
                 const char* header_name = nullptr) {
    return clCompileProgram(program, 0, nullptr, options, header == nullptr ? 0 : 1,
                            header == nullptr ? nullptr : &header, header == nullptr ? nullptr : &header_name, nullptr,
                            nullptr);
  }
  Owned<cl_program> compiled(const char* source, const char* options = "") {
    Owned<cl_program> program = make_program(context_, source);
    check(compile(program, options));
    return program;
  }
  Owned<cl_program> link(const Programs& inputs, const char* options = "", cl_int expected = CL_SUCCESS) {
    cl_int error = CL_SUCCESS;
    Owned<cl_program> linked(clLinkProgram(context_, 0, nullptr, options, static_cast<cl_uint>(inputs.size()),
                                           inputs.data(), nullptr, nullptr, &error));
    EXPECT_EQ(error, expected);
    EXPECT_EQ(linked == nullptr, expected != CL_SUCCESS && expected != CL_LINK_PROGRAM_FAILURE);
    return linked;
  }
  // Main and next, compiled, with the header given as a program.
  std::pair<Owned<cl_program>, Owned<cl_program>> both() {
    const Owned<cl_program> header = make_program(context_, "#define STEP 100\n");
    std::pair<Owned<cl_program>, Owned<cl_program>> both(make_program(context_, kMain), compiled(kNext));
    check(compile(both.first, "", header, "limits/step.h"));
    return both;
  }
  void expect_walks(cl_program linked, int step = 100) {
    const Owned<cl_kernel> kernel = make_kernel(linked, "walk");
    for (const auto* queue : {&queue_, &other_}) {
      const Owned<cl_mem> data = make_buffer(context_, numbers(8));
      check(set_arg(kernel, 0, data));
      check(run(*queue, kernel, 8));
      EXPECT_EQ(read<int>(*queue, data, 8), numbers(8, step + 1));
    }
  }
  cl_program_binary_type type(cl_program program, std::size_t index = 0) {
    return value<cl_program_binary_type>(clGetProgramBuildInfo, program, device(index), CL_PROGRAM_BINARY_TYPE);
  }
};

TEST_F(ProgramLinkTest, LinksTwoProgramsOnTwoServers) {
  const auto [main, next] = both();
  EXPECT_EQ(type(main), static_cast<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT));
  const Owned<cl_program> linked = link({main, next});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(type(linked, i), static_cast<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_EXECUTABLE));
    EXPECT_EQ(value<cl_build_status>(clGetProgramBuildInfo, linked.get(), device(i), CL_PROGRAM_BUILD_STATUS),
              CL_BUILD_SUCCESS);
  }
  EXPECT_EQ(text(clGetProgramInfo, linked.get(), CL_PROGRAM_KERNEL_NAMES), "walk");
  EXPECT_EQ(text(clGetProgramInfo, linked.get(), CL_PROGRAM_SOURCE), "");
  expect_walks(linked);
}

TEST_F(ProgramLinkTest, AHeaderMayComeFromAFileToo) {
  const std::string folder = Environment::get().folder() + "/limits";
  ASSERT_EQ(std::system(("mkdir -p " + folder).c_str()), 0);
  std::ofstream(folder + "/step.h") << "#define STEP 7\n";
  const Owned<cl_program> main = compiled(kMain, ("-I " + Environment::get().folder()).c_str());
  const Owned<cl_program> next = compiled(kNext);
  expect_walks(link({main, next}), 7);
}

TEST_F(ProgramLinkTest, LinksALibraryThatCameBackAsBinaries) {
  const auto [main, next] = both();
  const Owned<cl_program> library = link({next}, "-create-library");
  EXPECT_EQ(type(library), static_cast<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_LIBRARY));
  const auto sizes = list<std::size_t>(clGetProgramInfo, library.get(), CL_PROGRAM_BINARY_SIZES);
  ASSERT_EQ(sizes.size(), 2u);
  std::vector<std::vector<unsigned char>> binaries{std::vector<unsigned char>(sizes[0]),
                                                   std::vector<unsigned char>(sizes[1])};
  unsigned char* targets[] = {binaries[0].data(), binaries[1].data()};
  check(clGetProgramInfo(library, CL_PROGRAM_BINARIES, sizeof targets, targets, nullptr));
  const cl_device_id devices[] = {device(0), device(1)};
  const unsigned char* sources[] = {targets[0], targets[1]};
  cl_int status[] = {1, 1}, error = 1;
  const Owned<cl_program> loaded(
      clCreateProgramWithBinary(context_, 2, devices, sizes.data(), sources, status, &error));
  ASSERT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(status[0], CL_SUCCESS);
  EXPECT_EQ(type(loaded), static_cast<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_LIBRARY));
  expect_walks(link({main, loaded}));
}

TEST_F(ProgramLinkTest, AnUnresolvedNameIsALinkFailure) {
  const auto [main, next] = both();
  const Owned<cl_program> failed = link({main}, "", CL_LINK_PROGRAM_FAILURE);
  ASSERT_NE(failed.get(), nullptr);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(value<cl_build_status>(clGetProgramBuildInfo, failed.get(), device(i), CL_PROGRAM_BUILD_STATUS),
              CL_BUILD_ERROR);
    EXPECT_NE(text(clGetProgramBuildInfo, failed.get(), device(i), CL_PROGRAM_BUILD_LOG), "");
  }
  // A linker of its own mind: some drivers call an unknown option a failure.
  if (Environment::get().is_pocl()) link({main, next}, "--no-such-option", CL_INVALID_LINKER_OPTIONS);
}

TEST_F(ProgramLinkTest, OnlyCompiledProgramsCanBeLinked) {
  const auto [main, next] = both();
  const Owned<cl_program> raw = make_program(context_, kNext);
  link({raw}, "", CL_INVALID_OPERATION);
  link({main, raw}, "", CL_INVALID_OPERATION);
  link({main, program()}, "", CL_INVALID_OPERATION);
  // Compiled on one of the devices alone: "all other cases will return a CL_INVALID_OPERATION error."
  const cl_device_id one = device(0);
  check(clCompileProgram(raw, 1, &one, "", 0, nullptr, nullptr, nullptr, nullptr));
  link({main, raw}, "", CL_INVALID_OPERATION);
}

TEST_F(ProgramLinkTest, ALinkedProgramCanNeitherBeBuiltNorCompiled) {
  const auto [main, next] = both();
  const Owned<cl_program> linked = link({main, next});
  EXPECT_EQ(clBuildProgram(linked, 0, nullptr, "", nullptr, nullptr), CL_INVALID_OPERATION);
  EXPECT_EQ(compile(linked), CL_INVALID_OPERATION);
}

TEST_F(ProgramLinkTest, ACompilationWithMistakesHasALog) {
  const Owned<cl_program> broken = make_program(context_, "kernel void f() { int x = first_mistake; }");
  EXPECT_EQ(compile(broken), CL_COMPILE_PROGRAM_FAILURE);
  EXPECT_EQ(value<cl_build_status>(clGetProgramBuildInfo, broken.get(), device(), CL_PROGRAM_BUILD_STATUS),
            CL_BUILD_ERROR);
  EXPECT_NE(text(clGetProgramBuildInfo, broken.get(), device(), CL_PROGRAM_BUILD_LOG).find("first_mistake"),
            std::string::npos);
  EXPECT_EQ(compile(broken, "-I"), CL_INVALID_COMPILER_OPTIONS);
}

TEST_F(ProgramLinkTest, CallbacksNameTheProgramThatIsReady) {
  struct Called {
    std::atomic<cl_program> program{nullptr};
    static void CL_CALLBACK now(cl_program program, void* self) { static_cast<Called*>(self)->program = program; }
    void wait() const {
      for (int i = 0; i < 2000 && program == nullptr; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  const Owned<cl_program> source = make_program(context_, kNext);
  Called compiled_one, linked_one;
  check(clCompileProgram(source, 0, nullptr, "", 0, nullptr, nullptr, Called::now, &compiled_one));
  compiled_one.wait();
  EXPECT_EQ(compiled_one.program, source.get());
  cl_int error = CL_SUCCESS;
  const Owned<cl_program> linked(
      clLinkProgram(context_, 0, nullptr, "", 1, source.pointer(), Called::now, &linked_one, &error));
  ASSERT_EQ(error, CL_SUCCESS);
  linked_one.wait();
  EXPECT_EQ(linked_one.program, linked.get());
  EXPECT_EQ(type(linked, 1), static_cast<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_EXECUTABLE));
}

TEST_F(ProgramLinkTest, InputsAndHeadersMayBeReleasedAtOnce) {
  Owned<cl_program> linked;
  {
    const auto [main, next] = both();
    linked = link({main, next});
  }
  expect_walks(linked);
}

TEST_F(ProgramLinkTest, KernelsHoldTheirProgram) {
  const auto [main, next] = both();
  const Owned<cl_kernel> kernel = this->kernel("add");
  EXPECT_EQ(compile(program()), CL_INVALID_OPERATION) << "\"if there are kernel objects attached to program\"";
  EXPECT_EQ(clBuildProgram(program(), 0, nullptr, "", nullptr, nullptr), CL_INVALID_OPERATION);
}

}  // namespace
}  // namespace remotecl::testing
