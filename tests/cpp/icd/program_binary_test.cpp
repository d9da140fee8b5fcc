// Binaries: what they keep of what was known when they were made, and what becomes of bad ones.
#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "icd/fixture.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

using Binaries = std::vector<std::vector<unsigned char>>;

Binaries binaries_of(cl_program program) {
  Binaries binaries;
  std::vector<unsigned char*> targets;
  for (const std::size_t size : list<std::size_t>(clGetProgramInfo, program, CL_PROGRAM_BINARY_SIZES)) {
    targets.push_back(binaries.emplace_back(size).data());
  }
  check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, targets.size() * sizeof(void*), targets.data(), nullptr));
  return binaries;
}

class ProgramBinaryTest : public RemoteTest {
 protected:
  struct Loaded {
    Owned<cl_program> program;
    cl_int error = 1;
    std::vector<cl_int> status;
  };
  Loaded load(const Binaries& binaries) { return load(context_, binaries); }
  Loaded load(cl_context context, const Binaries& binaries) {
    std::vector<cl_device_id> devices;
    std::vector<std::size_t> sizes;
    std::vector<const unsigned char*> contents;
    for (std::size_t i = 0; i < binaries.size(); ++i) {
      devices.push_back(device(i));
      sizes.push_back(binaries[i].size());
      contents.push_back(binaries[i].data());
    }
    Loaded loaded;
    loaded.status.resize(devices.size(), 1);
    loaded.program = Owned<cl_program>(clCreateProgramWithBinary(context, static_cast<cl_uint>(devices.size()),
                                                                 devices.data(), sizes.data(), contents.data(),
                                                                 loaded.status.data(), &loaded.error));
    return loaded;
  }
  Owned<cl_program> loaded_and_built(const Binaries& binaries) {
    Loaded loaded = load(binaries);
    check(loaded.error);
    check(clBuildProgram(loaded.program, 0, nullptr, "", nullptr, nullptr));
    return std::move(loaded.program);
  }

  // How many places hold the newest bytes of what `kernel` has read on two servers, through its first argument.
  std::size_t holders_after(cl_program program, const char* name) {
    const Owned<cl_kernel> kernel = make_kernel(program, name);
    const Owned<cl_mem> from = make_buffer(context_, 64), to = make_buffer(context_, 64);
    const int value = 3;
    check(clEnqueueFillBuffer(queue_, from, &value, sizeof value, 0, 64, 0, nullptr, nullptr));
    check(clFinish(queue_));
    check(set_arg(kernel, 0, from));
    check(set_arg(kernel, 1, to));
    check(run(other_, kernel, 16));
    EXPECT_EQ(read<int>(other_, to, 16), std::vector<int>(16, 6));
    const auto residency = library_function<decltype(remotecl_residency_json)>("remotecl_residency_json");
    char* text = residency(from);
    const auto json = nlohmann::json::parse(text);
    library_function<decltype(remotecl_free)>("remotecl_free")(text);
    return json.at(0).at("ranges").at(0).at("holders").size();
  }
};

TEST_F(ProgramBinaryTest, KeepWhatIsOnlyRead) {
  if (holders_after(program(), "twice") != 2) GTEST_SKIP() << "the driver tells nothing of arguments";
  const Binaries binaries = binaries_of(program());
  const Owned<cl_program> again = loaded_and_built(binaries);
  EXPECT_EQ(holders_after(again, "twice"), 2u);
  EXPECT_EQ(text(clGetProgramInfo, again.get(), CL_PROGRAM_KERNEL_NAMES),
            text(clGetProgramInfo, program(), CL_PROGRAM_KERNEL_NAMES));
  EXPECT_EQ(holders_after(loaded_and_built(binaries_of(again)), "twice"), 2u) << "the binary of a binary";
}

TEST_F(ProgramBinaryTest, ThoseOfAProgramThatIsNotBuiltAreWhatItIsMadeOf) {
  const Binaries binaries = binaries_of(program());
  const Loaded loaded = load(binaries);
  ASSERT_EQ(loaded.error, CL_SUCCESS);
  EXPECT_EQ(binaries_of(loaded.program), binaries);
}

TEST_F(ProgramBinaryTest, DoNotTellTheProgramWhatTheDriverDoesNot) {
  const Owned<cl_program> again = loaded_and_built(binaries_of(program()));
  cl_kernel_arg_address_qualifier address = 0;
  cl_int answers[2];
  const Owned<cl_kernel> kernels[] = {kernel("twice"), make_kernel(again, "twice")};
  for (int i = 0; i < 2; ++i) {
    answers[i] = clGetKernelArgInfo(kernels[i], 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address, nullptr);
  }
  EXPECT_EQ(answers[1], answers[0]);
}

TEST_F(ProgramBinaryTest, OfCompiledAndLinkedProgramsKeepIt) {
  if (!Environment::get().is_pocl()) GTEST_SKIP() << "other drivers need not tell it of linked programs";
  const Owned<cl_program> source = make_program(context_, kSource);
  check(clCompileProgram(source, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr));
  const auto link = [this](cl_program object) {
    cl_int error = CL_SUCCESS;
    Owned<cl_program> linked(clLinkProgram(context_, 0, nullptr, "", 1, &object, nullptr, nullptr, &error));
    check(error);
    return linked;
  };
  const Owned<cl_program> linked = link(source);
  EXPECT_EQ(holders_after(linked, "twice"), 2u);
  EXPECT_EQ(holders_after(loaded_and_built(binaries_of(linked)), "twice"), 2u);
  const Loaded object = load(binaries_of(source));
  ASSERT_EQ(object.error, CL_SUCCESS);
  EXPECT_EQ(
      value<cl_program_binary_type>(clGetProgramBuildInfo, object.program.get(), device(1), CL_PROGRAM_BINARY_TYPE),
      static_cast<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT));
  EXPECT_EQ(holders_after(link(object.program), "twice"), 2u);
}

TEST_F(ProgramBinaryTest, OfTheDriverItselfAreTakenToo) {
  if (!Environment::get().is_pocl()) GTEST_SKIP() << "another driver may tell what is only read";
  const cl_device_id native = Environment::get().native_device();
  const Owned<cl_context> context = make_context({native});
  const Binaries binaries = binaries_of(build(context, kSource));
  const Owned<cl_program> program = loaded_and_built({binaries[0], binaries[0]});
  // Nobody has said what is only read.
  EXPECT_EQ(holders_after(program, "twice"), 1u);
}

TEST_F(ProgramBinaryTest, ThatAreDamagedAreRefusedAndTheContextIsToldWhy) {
  if (holders_after(program(), "twice") != 2) GTEST_SKIP() << "the driver tells nothing of arguments";
  static std::atomic<int> told;
  static std::string text;
  told = 0;
  const auto notify = [](const char* reason, const void*, std::size_t, void*) {
    text = reason;
    told.store(1);
    told.notify_all();
  };
  const cl_device_id devices[] = {device(0), device(1)};
  cl_int error = 1;
  const Owned<cl_context> context(clCreateContext(nullptr, 2, devices, notify, nullptr, &error));
  check(error);
  Binaries binaries = binaries_of(program());
  binaries[1].back() ^= 1;
  ::testing::internal::CaptureStderr();
  const Loaded loaded = load(context, binaries);
  EXPECT_EQ(loaded.program, nullptr);
  EXPECT_EQ(loaded.error, CL_INVALID_BINARY);
  EXPECT_EQ(loaded.status, (std::vector<cl_int>{CL_SUCCESS, CL_INVALID_BINARY}));
  told.wait(0);
  EXPECT_EQ(text, "a program binary cannot be used: it has been changed or cut off");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "remotecl: " + text + "\n");
}

}  // namespace
}  // namespace remotecl::testing
