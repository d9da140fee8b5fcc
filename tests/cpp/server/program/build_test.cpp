#include <map>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using BuildTest = ServerTest;

TEST_F(BuildTest, KernelsAreDescribed) {
  WireClient client(address());
  const auto done = client.build(client.id(), R"(
    typedef struct { int a, b, c; } Three;
    __attribute__((reqd_work_group_size(4, 2, 1)))
    kernel void f(global float* out, constant int* in, local int* scratch, char c, float4 v, Three three, long n) {
      scratch[0] = c + n + three.a;
      out[0] = v.x + scratch[0] + in[0];
    })");
  int builds = 0;
  done->builds.for_each([&](const DeviceBuild& build) {
    ++builds;
    EXPECT_EQ(build.error, 0);
    EXPECT_EQ(build.status, CL_BUILD_SUCCESS) << build.log;
    EXPECT_EQ(build.binary_type, static_cast<std::uint32_t>(CL_PROGRAM_BINARY_TYPE_EXECUTABLE));
    EXPECT_EQ(build.executable, 1u);
    ASSERT_EQ(build.kernels.size(), 1u);
    build.kernels.for_each([](const KernelDescription& kernel) {
      EXPECT_EQ(kernel.name, "f");
      EXPECT_GT(kernel.work_group_size, 0u);
      EXPECT_EQ(kernel.compile_work_group_size, (Extent{4, 2, 1}));
      std::vector<ArgumentKind> kinds;
      std::vector<std::uint32_t> sizes;
      kernel.arguments.for_each([&](const ArgumentDescription& argument) {
        kinds.push_back(argument.kind);
        if (argument.kind == ArgumentKind::kValue) sizes.push_back(argument.size);
      });
      using Kind = ArgumentKind;
      EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kMemory, Kind::kMemory, Kind::kLocal, Kind::kValue, Kind::kValue,
                                          Kind::kValue, Kind::kValue}));
      ASSERT_EQ(sizes.size(), 4u);
      EXPECT_TRUE(sizes[2] == 12 || sizes[2] == 0) << "not every driver checks the size of a structure";
      EXPECT_EQ(sizes, (std::vector<std::uint32_t>{1, 16, sizes[2], 8}));
    });
  });
  EXPECT_EQ(builds, 1);
}

TEST_F(BuildTest, FailedBuildHasTheFullLogAndItsKernelsCannotRun) {
  WireClient client(address());
  const ObjectId program = client.id();
  const auto done = client.build(program, "kernel void f() { int x = first_mistake; int y = second_mistake; }");
  done->builds.for_each([](const DeviceBuild& build) {
    EXPECT_EQ(build.error, CL_BUILD_PROGRAM_FAILURE);
    EXPECT_EQ(build.status, CL_BUILD_ERROR);
    EXPECT_NE(build.log.find("first_mistake"), std::string_view::npos) << build.log;
    EXPECT_NE(build.log.find("second_mistake"), std::string_view::npos) << build.log;
  });
  const ObjectId queue = client.make_queue(), kernel = client.make_kernel(program, "f");
  client.enqueue(queue, kernel, 1, {}, 1000);
  client.flush();
  EXPECT_EQ(client.wait<CommandFailed>()->status, CL_INVALID_PROGRAM_EXECUTABLE);
  // A later build of the same program makes it usable.
  const Token token = client.id();
  const std::uint32_t device = 0;
  client.send(
      BuildProgram{program, token, Array<std::uint32_t>(&device, 1), "-Dfirst_mistake=1 -Dsecond_mistake=2", {}, {}});
  client.wait<BuildDone>();
  client.enqueue(queue, kernel, 1, {}, 1001);
  client.finish(queue);
  EXPECT_FALSE(client.has<CommandFailed>());
}

class HeaderTest : public ServerTest {
 protected:
  std::string build(WireClient& client, std::string_view source, std::span<const IncludeFolder> folders,
                    std::span<const HeaderFile> headers, std::int32_t expected) {
    const ObjectId program = client.id();
    const Token token = client.id();
    const std::uint32_t device = 0;
    client.add(CreateProgramWithSource{program, as_bytes(source)});
    client.send(BuildProgram{program, token, Array<std::uint32_t>(&device, 1), "-DN=2", folders, headers});
    const auto done = client.wait<BuildDone>();
    std::string log;
    done->builds.for_each([&](const DeviceBuild& build) {
      EXPECT_EQ(build.error, expected) << build.log;
      log = build.log;
    });
    return log;
  }
};

TEST_F(HeaderTest, IncludedFilesComeWithTheBuild) {
  WireClient client(address());
  const IncludeFolder folders[] = {{"/home/user/include"}, {"/opt/my headers"}};
  const HeaderFile headers[] = {{"/home/user/include/a/one.h", as_bytes("#include \"two.h\"\n")},
                                {"/home/user/include/a/two.h", as_bytes("#define TWO N\n")},
                                {"/opt/my headers/three.h", as_bytes("#define THREE 3\n")}};
  build(client, "#include <a/one.h>\n#include \"three.h\"\nkernel void f(global int* p) { *p = TWO + THREE; }", folders,
        headers, CL_SUCCESS);
}

TEST_F(HeaderTest, LogsNameTheClientsPaths) {
  WireClient client(address());
  const IncludeFolder folder{"/home/user/include"};
  const HeaderFile header{"/home/user/include/bad.h", as_bytes("int f() { return mistake; }\n")};
  const auto log = build(client, "#include <bad.h>\nkernel void f2() {}", std::span(&folder, 1), std::span(&header, 1),
                         CL_BUILD_PROGRAM_FAILURE);
  EXPECT_NE(log.find("/home/user/include/bad.h"), std::string::npos) << log;
  EXPECT_EQ(log.find("remotecl-"), std::string::npos) << log;
}

TEST_F(HeaderTest, SamePathWithOtherContentIsAnotherBuild) {
  WireClient client(address());
  const IncludeFolder folder{"/inc"};
  for (int value = 0; value < 2; ++value) {
    const std::string text = "#define VALUE " + std::to_string(value) + "\n";
    const HeaderFile header{"/inc/value.h", as_bytes(text)};
    const std::string source = "#include <value.h>\n#if VALUE != " + std::to_string(value) +
                               "\n#error stale header\n#endif\nkernel void f() {}";
    build(client, source, std::span(&folder, 1), std::span(&header, 1), CL_SUCCESS);
  }
}

TEST_F(BuildTest, BinaryOfAProgramMakesAnother) {
  WireClient client(address());
  const ObjectId program = client.id();
  client.build(program, kAddSource);
  client.send(GetProgramBinary{program, 0, 1});
  const auto binary = client.wait<ProgramBinary>();
  ASSERT_EQ(binary->error, CL_SUCCESS);
  ASSERT_GT(binary->binary.size(), 0u);
  const ObjectId copy = client.id();
  const std::uint32_t device = 0;
  client.add(CreateProgramWithBinary{copy, 0, binary->binary});
  client.send(BuildProgram{copy, 2, Array<std::uint32_t>(&device, 1), {}, {}, {}});
  client.wait<BuildDone>()->builds.for_each([](const DeviceBuild& build) { EXPECT_EQ(build.error, 0) << build.log; });
  const ObjectId queue = client.make_queue(), buffer = client.make_buffer(4), kernel = client.make_kernel(copy, "add");
  client.write<int>(queue, buffer, std::vector<int>{1});
  const int two = 2;
  const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, two)};
  client.enqueue(queue, kernel, 1, arguments);
  EXPECT_EQ(client.read<int>(queue, buffer, 1)[0], 3);
}

TEST_F(BuildTest, GarbageBinaryIsAnErrorOfTheBuild) {
  WireClient client(address());
  const ObjectId program = client.id();
  const std::uint32_t device = 0;
  client.add(CreateProgramWithBinary{program, 0, as_bytes("this is no binary")});
  client.send(BuildProgram{program, 2, Array<std::uint32_t>(&device, 1), {}, {}, {}});
  client.wait<BuildDone>()->builds.for_each([](const DeviceBuild& build) { EXPECT_LT(build.error, 0); });
  client.send(GetProgramBinary{program, 0, 3});
  const bool gives_back = server_.driver().device(0)->traits().platform_name == "NVIDIA CUDA";  // what it was given
  EXPECT_EQ(client.wait<ProgramBinary>()->error, gives_back ? CL_SUCCESS : CL_INVALID_PROGRAM_EXECUTABLE);
}

TEST_F(BuildTest, BuildDoesNotHoldUpTheSession) {
  WireClient client(address());
  std::string source;
  for (int i = 0; i < 200; ++i) {
    source +=
        "kernel void f" + std::to_string(i) + "(global float* p) { p[get_global_id(0)] = sin(p[0]) + cos(p[1]); }\n";
  }
  source += "// " + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());  // in no cache
  const ObjectId program = client.id();
  const std::uint32_t device = 0;
  client.add(CreateProgramWithSource{program, as_bytes(source)});
  client.send(BuildProgram{program, 1, Array<std::uint32_t>(&device, 1), {}, {}, {}});
  client.ping();
  EXPECT_FALSE(client.has<BuildDone>());
  client.wait<BuildDone>();
}

}  // namespace
}  // namespace remotecl::testing
