// Binaries: what they keep of what was known when they were made, and what becomes of bad ones.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "icd/fixture.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"
#include "runtime/protocol/program_recipe.h"
#include "store/temporary_folder.h"

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

  // A program that a driver has no binary of before it compiles all of its kernels.
  Owned<cl_program> compiled(const char* source, const char* options = "") {
    Owned<cl_program> program = make_program(context_, source);
    check(clCompileProgram(program, 0, nullptr, options, 0, nullptr, nullptr, nullptr, nullptr));
    return program;
  }
  Owned<cl_program> linked(const std::vector<cl_program>& inputs, const char* options = "") {
    cl_int error = CL_SUCCESS;
    Owned<cl_program> program(clLinkProgram(context_, 0, nullptr, options, static_cast<cl_uint>(inputs.size()),
                                            inputs.data(), nullptr, nullptr, &error));
    check(error);
    return program;
  }
  cl_program_binary_type type_of(cl_program program) {
    return value<cl_program_binary_type>(clGetProgramBuildInfo, program, device(1), CL_PROGRAM_BINARY_TYPE);
  }
  int result_of(cl_program program, const char* name) {
    const Owned<cl_kernel> kernel = make_kernel(program, name);
    const Owned<cl_mem> to = make_buffer(context_, 4);
    check(set_arg(kernel, 0, to));
    check(run(other_, kernel, 1));
    return read<int>(other_, to, 1).front();
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

// PoCL compiles all kernels of a program when it is asked for the binary.
class ProgramRecipeTest : public ProgramBinaryTest {
 protected:
  void SetUp() override {
    ProgramBinaryTest::SetUp();
    if (!Environment::get().is_pocl()) GTEST_SKIP() << "the driver has binaries";
  }
};

TEST_F(ProgramRecipeTest, StandsForTheBinaryAndCostsNothing) {
  const Owned<cl_program> program = build(context_, kSource, "-D UNUSED=1");
  const Binaries binaries = binaries_of(program);
  for (const auto& binary : binaries) {
    EXPECT_GT(binary.size(), 0u);
    EXPECT_LT(binary.size(), sizeof kSource + 1024) << "of a driver's binary";
  }
  EXPECT_EQ(binaries[0], binaries[1]);
  EXPECT_EQ(type_of(program), static_cast<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_EXECUTABLE));
  EXPECT_EQ(holders_after(program, "twice"), 2u);
  EXPECT_EQ(binaries_of(program), binaries) << "kernels have run";
  EXPECT_EQ(binaries_of(build(context_, kSource, "-D UNUSED=1")), binaries);
  EXPECT_NE(binaries_of(build(context_, kSource, "-D UNUSED=2")), binaries);
}

TEST_F(ProgramRecipeTest, MakesTheSameProgram) {
  constexpr char kSum[] = "kernel void sum(global int* to) { to[0] = ONE + TWO; }";
  const Owned<cl_program> program = build(context_, kSum, "-D ONE=1 -D TWO=20");
  const Binaries binaries = binaries_of(program);
  Loaded loaded = load(binaries);
  ASSERT_EQ(loaded.error, CL_SUCCESS);
  EXPECT_EQ(loaded.status, (std::vector<cl_int>{CL_SUCCESS, CL_SUCCESS}));
  EXPECT_EQ(type_of(loaded.program), static_cast<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_EXECUTABLE));
  EXPECT_EQ(text(clGetProgramInfo, loaded.program.get(), CL_PROGRAM_SOURCE), "");
  check(clBuildProgram(loaded.program, 0, nullptr, "-D ONE=5", nullptr, nullptr));
  EXPECT_EQ(result_of(loaded.program, "sum"), 21) << "a binary has its options behind it";
  EXPECT_EQ(binaries_of(loaded.program), binaries);
}

TEST_F(ProgramRecipeTest, HasTheFilesThatTheProgramIncluded) {
  const TemporaryFolder folder;
  const std::filesystem::path header = folder.path() / "recipe_factor.h";
  std::ofstream(header) << "#define FACTOR 7\n";
  const Owned<cl_program> program =
      build(context_, "#include \"recipe_factor.h\"\nkernel void factor(global int* to) { to[0] = FACTOR; }",
            ("-I " + folder.path().string()).c_str());
  const Binaries binaries = binaries_of(program);
  std::filesystem::remove(header);
  EXPECT_EQ(result_of(loaded_and_built(binaries), "factor"), 7);
}

TEST_F(ProgramRecipeTest, MakesObjectsLibrariesAndWhatIsLinkedOfThem) {
  const Owned<cl_program> object = compiled("int five(void) { return FIVE; }", "-D FIVE=5");
  const Owned<cl_program> library = linked({object}, "-create-library");
  const Owned<cl_program> main = compiled("int five(void); kernel void six(global int* to) { to[0] = five() + 1; }");
  const Owned<cl_program> whole = linked({main, library});
  for (const auto* each : {&object, &library, &main, &whole}) EXPECT_LT(binaries_of(*each)[0].size(), 2048u);
  EXPECT_EQ(result_of(loaded_and_built(binaries_of(whole)), "six"), 6);

  const Loaded loaded_main = load(binaries_of(main)), loaded_library = load(binaries_of(library));
  ASSERT_EQ(loaded_main.error, CL_SUCCESS);
  ASSERT_EQ(loaded_library.error, CL_SUCCESS);
  EXPECT_EQ(type_of(loaded_main.program), static_cast<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT));
  EXPECT_EQ(type_of(loaded_library.program), static_cast<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_LIBRARY));
  const Owned<cl_program> again = linked({loaded_main.program, loaded_library.program});
  EXPECT_EQ(result_of(again, "six"), 6);
  EXPECT_EQ(binaries_of(again), binaries_of(whole));
  // "If program is created with clCreateProgramWithBinary, then the program binary must be an executable binary."
  EXPECT_EQ(clBuildProgram(loaded_library.program, 0, nullptr, "", nullptr, nullptr), CL_INVALID_BINARY);
}

TEST_F(ProgramRecipeTest, OfTooManyLibrariesInLibrariesIsTheDriversBinary) {
  Owned<cl_program> library = linked({compiled("int five(void) { return 5; }")}, "-create-library");
  for (int i = 0; i < 10; ++i) library = linked({library}, "-create-library");
  EXPECT_GT(binaries_of(library)[0].size(), 0u);
  const Owned<cl_program> main = compiled("int five(void); kernel void ten(global int* to) { to[0] = five() * 2; }");
  EXPECT_EQ(result_of(loaded_and_built(binaries_of(linked({main, library}))), "ten"), 10);
}

TEST_F(ProgramRecipeTest, CanBeTwoOfOneServer) {
  const Binaries one = binaries_of(build(context_, "kernel void one(global int* to) { to[0] = 1; }"));
  const Owned<cl_context> context = make_context({Environment::get().native_device()});
  const Binaries native = binaries_of(build(context, "kernel void one(global int* to) { to[0] = 10; }"));
  EXPECT_EQ(result_of(loaded_and_built({native[0], one[1]}), "one"), 1) << "beside a binary of the driver";
  EXPECT_EQ(result_of(loaded_and_built({one[0], native[0]}), "one"), 10);
}

TEST_F(ProgramRecipeTest, ThatIsCutOrForAnotherDriverIsRefused) {
  const Binaries good = binaries_of(build(context_, kSource));
  ::testing::internal::CaptureStderr();
  for (const std::size_t size : {std::size_t{8}, std::size_t{44}, good[1].size() - 1}) {
    Binaries cut = good;
    cut[1].resize(size);
    const Loaded loaded = load(cut);
    EXPECT_EQ(loaded.error, CL_INVALID_BINARY);
    EXPECT_EQ(loaded.status, (std::vector<cl_int>{CL_SUCCESS, CL_INVALID_BINARY}));
  }
  Binaries other = good;
  ProgramRecipe recipe = open_recipe(std::as_bytes(std::span(other[1])));
  const std::string device = std::string(recipe.device) + " Mark II";
  recipe.device = device;
  const auto sealed = seal(kRecipeMagic, kRecipeVersion, recipe);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(sealed.data());
  other[1].assign(bytes, bytes + sealed.size());
  EXPECT_EQ(load(other).error, CL_INVALID_BINARY);
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("Mark II\", not for \""), std::string::npos) << told;
  EXPECT_NE(told.find("build the program from source"), std::string::npos) << told;
}

}  // namespace
}  // namespace remotecl::testing
