#include "server/program/build_cache.h"

#include <algorithm>
#include <set>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using server::BuildCache;
using server::BuildRecord;
using server::Counters;
using server::MemoryLimits;
using server::MemoryQuota;
using server::Program;
using server::ProgramOrigin;
using server::SessionCounters;

constexpr char kSource[] = "kernel void f(global int* data, int value) { data[0] += value; }";

Ref<Program> make_program(std::string_view source, ProgramOrigin origin = ProgramOrigin::kSource) {
  const auto used = make_ref<Counters>(MemoryQuota::counters(0));
  const auto quota = make_ref<MemoryQuota>(0, used, MemoryLimits{}, nullptr);
  auto program = make_ref<Program>(origin, make_ref<SessionCounters>(quota));
  program->set_code(as_bytes(source));
  return program;
}

std::string key_of(std::string_view source, std::string_view options = {}) {
  return BuildCache::key(*make_program(source), {options, {}, {}});
}

TEST(BuildKeyTest, AllThatMattersIsInTheKey) {
  const std::string keys[] = {key_of("ab"), key_of("a"), key_of("a", "b"), key_of("a", "-cl-std=CL1.2"),
                              key_of("b", "a")};
  EXPECT_EQ(std::set<std::string>(std::begin(keys), std::end(keys)).size(), std::size(keys));
  EXPECT_FALSE(std::count(std::begin(keys), std::end(keys), ""));
  EXPECT_EQ(key_of("a", "b"), key_of("a", "b"));
}

TEST(BuildKeyTest, WhatMustNotBeSharedHasNone) {
  for (const char* options : {"-cl-std=CL2.0", "-g -cl-std=CL3.0", "-cl-std=CL1.2 -cl-std=CL2.0", "-cl-std=CLC++"}) {
    EXPECT_EQ(key_of(kSource, options), "") << "it may have variables: " << options;
  }
  EXPECT_EQ(key_of("#include \"somewhere.h\""), "") << "nobody knows what is in there";
  EXPECT_EQ(key_of("# import <somewhere.h>"), "");
  EXPECT_EQ(key_of(kSource, "-include somewhere.h"), "");
  const HeaderFile header[] = {{"/a/h", as_bytes("1")}};
  EXPECT_EQ(BuildCache::key(*make_program(kSource), {{}, {}, std::span<const HeaderFile>(header)}), "");
  EXPECT_EQ(key_of(std::string(2u << 20, ' ')), "") << "too long to be kept";
  EXPECT_EQ(BuildCache::key(*make_program(kSource, ProgramOrigin::kIl), {}), "");
}

class BuildCacheTest : public ::testing::Test {
 protected:
  // As if it had been built.
  void keep(const std::string& key, bool is_executable = true, std::uint64_t variables = 0, std::size_t kernels = 1) {
    cl_program program = nullptr;
    ASSERT_EQ(make_program(kSource)->make(device_, program), CL_SUCCESS);
    BuildRecord record{};
    record.values.executable = is_executable ? 1 : 0;
    record.values.global_variables_size = variables;
    record.log = key;
    record.kernels.resize(kernels);
    built_.keep(device_, key, program, record);
    clReleaseProgram(program);
  }
  bool has(const std::string& key) {
    BuildRecord record{};
    const cl_program program = built_.find(device_, key, record);
    if (program == nullptr) return false;
    EXPECT_EQ(record.log, key);
    clReleaseProgram(program);
    return true;
  }

  server::NativeDriver driver_{"0"};
  server::Device& device_ = *driver_.devices().front();
  BuildCache built_;
};

TEST_F(BuildCacheTest, IsFoundByItsKeyOnly) {
  keep("a");
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(has("b"));
}

TEST_F(BuildCacheTest, WhatIsBuiltAgainIsTheSameProgram) {
  const auto program = make_program(kSource);
  const auto build = [&](const std::string& key) {
    server::BuildReport report;
    const cl_program native = report.build(*program, device_, server::WrittenFiles(), built_, key);
    EXPECT_TRUE(report.executable(0));
    EXPECT_EQ(report.traits(0).at("f").arguments.size(), 2u);
    return native;
  };
  const cl_program first = build("key"), again = build("key"), other = build("another key"), alone = build("");
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_NE(first, alone);
  for (const cl_program native : {first, again, other, alone}) clReleaseProgram(native);
}

TEST_F(BuildCacheTest, FailedOnesAndThoseWithVariablesAreNotKept) {
  keep("failed", false);
  keep("has variables", true, 4);
  keep("without kernels", true, 0, 0);
  EXPECT_FALSE(has("failed"));
  EXPECT_FALSE(has("has variables"));
  EXPECT_FALSE(has("without kernels"));
}

TEST_F(BuildCacheTest, TheOneThatNobodyAskedForLongestGoesFirst) {
  for (int i = 0; i < 64; ++i) keep(std::to_string(i));
  EXPECT_TRUE(has("0"));
  keep("64");
  EXPECT_TRUE(has("0"));
  EXPECT_FALSE(has("1"));
  EXPECT_TRUE(has("64"));
}

class SharedProgramTest : public ServerTest {
 protected:
  struct User {
    explicit User(const Address& address) : client(address) {}
    // Its description, without the token, as it was sent.
    std::string build(std::string_view source, std::string_view options = {}) {
      const auto done = client.build(program, source, options);
      kernel = client.make_kernel(program, "f");
      std::string text(as_text(*done.bytes));
      return text.substr(sizeof(Token));
    }
    void run(int value) {
      const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, value)};
      client.enqueue(queue, kernel, 1, arguments);
    }
    int result() { return client.read<int>(queue, buffer, 1)[0]; }

    WireClient client;
    const ObjectId program = client.id(), queue = client.make_queue(), buffer = client.make_buffer(4);
    ObjectId kernel = 0;
  };
};

TEST_F(SharedProgramTest, EachSessionHasItsOwnArguments) {
  User first(address()), second(address());
  for (User* user : {&first, &second}) user->client.write<int>(user->queue, user->buffer, std::vector<int>{0});
  EXPECT_EQ(first.build(kSource), second.build(kSource)) << "both are told the same";
  for (int i = 0; i < 10; ++i) {
    first.run(1);
    second.run(100);
  }
  EXPECT_EQ(first.result(), 10);
  EXPECT_EQ(second.result(), 1000);
}

TEST_F(SharedProgramTest, OutlivesTheSessionThatBuiltIt) {
  {
    User first(address());
    first.build(kSource);
  }
  User second(address());
  second.client.write<int>(second.queue, second.buffer, std::vector<int>{0});
  second.build(kSource);
  second.run(7);
  EXPECT_EQ(second.result(), 7);
}

TEST_F(SharedProgramTest, OtherOptionsAreAnotherProgram) {
  constexpr char kWithMacro[] = "kernel void f(global int* data, int value) { data[0] = VALUE + value; }";
  User first(address()), second(address());
  first.build(kWithMacro, "-DVALUE=1");
  second.build(kWithMacro, "-DVALUE=2");
  first.run(0);
  second.run(0);
  EXPECT_EQ(first.result(), 1);
  EXPECT_EQ(second.result(), 2);
}

}  // namespace
}  // namespace remotecl::testing
