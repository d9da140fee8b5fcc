#include "server/program/stored_builds.h"

#include <cstdlib>
#include <set>

#include "runtime/store/store.h"
#include "server/fixture.h"
#include "server/program/build_cache.h"
#include "server/program/device_identity.h"
#include "server/program/restart_fixture.h"
#include "server/program/source_counter.h"

namespace remotecl::testing {
namespace {

using server::BuildCache;
using server::BuildRecord;
using server::BuildReport;
using server::ClientFiles;
using server::Program;
using server::ProgramOrigin;
using server::Server;
using server::StoredBuilds;
using server::StoredRequest;
using server::WrittenFiles;

constexpr char kStoredSource[] = "kernel void f(global int* data, int value) { data[0] += value; }";
constexpr char kTwoKernels[] =
    "kernel void f(global int* data, int value) { data[0] += value; }\n"
    "kernel void g(global int* data) { data[0] = 0; }";
constexpr char kPrints[] =
    "#define NAME(a, b) a##b\n"
    "kernel void f(global int* data, int value) { data[0] += value; NAME(pri, ntf)(\"value %d\\n\", value); }";
constexpr char kWarns[] =
    "#warning so it has a build log\n"
    "__attribute__((work_group_size_hint(1, 1, 1))) kernel void f(global int* restrict data, const int value) {\n"
    "  local int scratch[32]; scratch[0] = value; data[0] += scratch[0]; }";

class StoredBuildsTest : public ::testing::Test {
 protected:
  struct Header {
    std::string path, content;
  };
  std::optional<Digest> key(std::string_view code, std::string_view options = {},
                            const std::vector<Header>& headers = {}, const std::vector<std::string>& folders = {},
                            ProgramOrigin origin = ProgramOrigin::kSource) {
    std::vector<HeaderFile> files;
    for (const Header& header : headers) files.push_back({header.path, as_bytes(header.content)});
    std::vector<IncludeFolder> includes;
    for (const std::string& folder : folders) includes.push_back({folder});
    return builds().key(*make_program(code, origin),
                        {options, std::span<const IncludeFolder>(includes), std::span<const HeaderFile>(files)},
                        device_);
  }
  StoredBuilds& builds() { return *cache_.stored(); }
  // As a daemon that was started anew.
  cl_program build(BuildReport& report, const std::string& source, std::shared_ptr<FakeFolder> folder,
                   Store::Counts& counts, const std::string& owner = "alice") {
    Store store = open_store(std::move(folder));
    BuildCache cache(&store);
    const StoredRequest request{{}, owner};
    const cl_program native = report.build(*make_program(source), device_, WrittenFiles(), cache, "", &request);
    cache.stored()->save_all(std::chrono::steady_clock::now() + std::chrono::minutes(1));
    counts = store.counts();
    return native;
  }
  // Without the number of the device, whether it compiles, and what the client is told.
  std::string built(const std::string& source, Store::Counts& counts, const std::string& owner = "alice") {
    BuildReport report;
    const cl_program native = build(report, source, folder_, counts, owner);
    EXPECT_NE(native, nullptr);
    EXPECT_TRUE(report.executable(0));
    std::string text = report.traits(0).contains("f") ? "f " : "";
    text += report.prints() ? "prints " : "";
    if (native != nullptr) clReleaseProgram(native);
    return text;
  }

  server::NativeDriver driver_{"0"};
  server::Device& device_ = *driver_.devices().front();
  const std::shared_ptr<FakeFolder> folder_ = std::make_shared<FakeFolder>();
  Store store_ = open_store(std::make_shared<FakeFolder>());
  BuildCache cache_{&store_};
};

TEST_F(StoredBuildsTest, AllThatABuildDependsOnIsInItsKey) {
  const std::vector<std::optional<Digest>> keys = {
      key("a"),
      key("b"),
      key("a", "-DX"),
      key("a", "-DX "),
      key("a-DX"),
      key("a", {}, {}, {}, ProgramOrigin::kIl),
      key("a", {}, {{"/h/x.h", "1"}}),
      key("a", {}, {{"/h/x.h", "2"}}),
      key("a", {}, {{"/h/y.h", "1"}}),
      key("a", {}, {{"/h/x.h", "1"}, {"/h/y.h", "1"}}),
      key("a", {}, {{"/h/x.h", "1"}}, {"/h"}),
      key("a", {}, {{"/h/x.h", "1"}}, {"/g", "/h"}),
      key("a", {}, {{"/h/x.h", "1"}}, {"/h", "/g"}),
      key("a", "-cl-std=CL2.0"),
  };
  std::set<Digest> different;
  for (const auto& each : keys) {
    ASSERT_TRUE(each.has_value());
    different.insert(*each);
  }
  EXPECT_EQ(different.size(), keys.size());
  EXPECT_EQ(key("a", "-DX"), key("a", "-DX"));
}

TEST_F(StoredBuildsTest, SpecializationConstantsAreInItsKey) {
  const StoredBuilds::Constants all[] = {{}, {{1, "a"}}, {{1, "b"}}, {{2, "a"}}, {{1, "a"}, {2, "a"}}, {{1, ""}}};
  std::set<std::string> different;
  for (const auto& constants : all) different.insert(StoredBuilds::text_of(ProgramOrigin::kIl, "IL", constants, {}));
  EXPECT_EQ(different.size(), std::size(all));
}

TEST_F(StoredBuildsTest, WhatMayDependOnSomethingElseHasNoKey) {
  const std::vector<Header> x{{"/h/x.h", "int x;"}};
  EXPECT_TRUE(key("#include \"x.h\"\n", {}, x, {"/h"}));
  EXPECT_TRUE(key("// it includes nothing\nkernel void f() {}"));
  EXPECT_FALSE(key("#include \"x.h\"\n"));
  EXPECT_FALSE(key("#include \"y.h\"\n", {}, x, {"/h"}));
  EXPECT_FALSE(key("#include <opencl-c.h>\n", {}, x, {"/h"}));
  EXPECT_FALSE(key("#include \"x.h\"\n", {}, {{"/h/x.h", "#include \"y.h\""}}, {"/h"}));
  EXPECT_FALSE(key("#define FILE \"y.h\"\n#include FILE\n", {}, x, {"/h"}));
  EXPECT_FALSE(key("#if __has_include(\"y.h\")\n#endif\n", {}, x, {"/h"}));
  EXPECT_FALSE(key("%:\\\ninclude \"y.h\"\n", {}, x, {"/h"}));
  EXPECT_FALSE(key(kStoredSource, "-include y.h"));
  EXPECT_FALSE(key("constant char when[] = __TIME__ __DATE__;"));
  EXPECT_FALSE(key("", "-DWHEN=__TIMESTAMP__"));
  EXPECT_FALSE(key("#include \"x.h\"\n", {}, {{"/h/x.h", "int x = __TIME__[0];"}}, {"/h"}));
  EXPECT_FALSE(key(std::string(17u << 20, ' '))) << "too long";
  EXPECT_FALSE(builds().key(*make_program("", ProgramOrigin::kLink), {}, device_));
  EXPECT_FALSE(builds().key(*make_program("", ProgramOrigin::kBinaries), {}, device_));
}

TEST_F(StoredBuildsTest, ADeviceIsWhatItsDriverAndTheirEnvironmentAre) {
  const std::string& code = server::loaded_code();
  const auto identity = [&] { return server::device_identity(device_, code); };
  const Digest before = identity();
  EXPECT_EQ(identity(), before);
  EXPECT_NE(server::device_identity(device_, code + "x"), before) << "another driver's library";
  ::setenv("POCL_EXTRA_BUILD_FLAGS", "-DX", 1);
  EXPECT_NE(identity(), before);
  ::unsetenv("POCL_EXTRA_BUILD_FLAGS");
  ::setenv("REMOTECL_HEARTBEAT", "5", 1);
  EXPECT_EQ(identity(), before) << "no driver reads that";
  ::unsetenv("REMOTECL_HEARTBEAT");
  EXPECT_FALSE(code.empty());
}

TEST_F(StoredBuildsTest, IsFoundAndNotCompiled) {
  for (const char* source : {kStoredSource, kTwoKernels, kPrints, kWarns}) {
    Store::Counts counts;
    const std::string first = built(source, counts);
    EXPECT_EQ(counts.hits, 0u);
    const int before = sources;
    EXPECT_EQ(built(source, counts), first);
    EXPECT_EQ(counts.hits, 1u);
    EXPECT_EQ(sources, before) << "the driver was given no source: " << source;
  }
}

TEST_F(StoredBuildsTest, AnotherUserCompiles) {
  Store::Counts counts;
  built(kStoredSource, counts, "alice");
  const int before = sources;
  built(kStoredSource, counts, "bob");
  EXPECT_EQ(counts.hits, 0u);
  EXPECT_GT(sources, before);
}

// Which is right for the key and the sum, and of no use: an older release's, or made by somebody. Not a part of the
// right one, on which PoCL ends the process: the sum keeps those out.
TEST_F(StoredBuildsTest, WhatTheDriverDoesNotTakeIsCompiled) {
  Store::Counts counts;
  built(kStoredSource, counts);
  const auto key = this->key(kStoredSource);
  BuildRecord record{};
  Bytes binary;
  std::vector<std::byte> content;
  {
    Store store = open_store(folder_);
    content = *store.find("alice", *key);
  }
  ASSERT_TRUE(StoredBuilds::decode(content, record, binary));
  BuildRecord other_kernels = record;
  other_kernels.kernels[0].name = "g";
  const std::vector<std::vector<std::byte>> wrong = {
      {},
      std::vector<std::byte>(100, std::byte{1}),
      std::vector<std::byte>(content.begin(), content.end() - 1),
      StoredBuilds::encode(record, as_bytes("this is no binary")),
      StoredBuilds::encode(record, {}),
      StoredBuilds::encode(other_kernels, binary),
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    open_store(folder_).keep("alice", *key, wrong[i]);
    const int before = sources;
    EXPECT_EQ(built(kStoredSource, counts), "f ") << i;
    EXPECT_GT(sources, before) << i;
    EXPECT_EQ(open_store(folder_).find("alice", *key), content) << "the right one is there again: " << i;
  }
}

TEST_F(StoredBuildsTest, FailedBuildsAreNotStored) {
  for (int i = 0; i < 2; ++i) {
    BuildReport report;
    Store::Counts counts;
    const cl_program native = build(report, "kernel void f( {", folder_, counts);
    EXPECT_FALSE(report.executable(0));
    EXPECT_EQ(counts.entries, 0u);
    if (native != nullptr) clReleaseProgram(native);
  }
}

class RestartTest : public RestartFixture {
 protected:
  using RestartFixture::RestartFixture;

  struct Run {
    std::string described;  // as the client got it, without the token
    int result = 0;
    std::string printed;
  };

  Run run(std::string_view source, int value) {
    WireClient client(server_->address());
    client.introduce({1});
    Run run;
    const ObjectId program = client.id(), queue = client.make_queue(), buffer = client.make_buffer(4);
    const auto done = client.build(program, source, "-DUNUSED=1");
    run.described = std::string(as_text(*done.bytes)).substr(sizeof(Token));
    client.write<int>(queue, buffer, std::vector<int>{100});
    const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, value)};
    client.enqueue(queue, client.make_kernel(program, "f"), 1, arguments);
    run.result = client.read<int>(queue, buffer, 1)[0];
    if (client.has<KernelOutput>()) run.printed = as_text(client.wait<KernelOutput>()->text);
    return run;
  }
};

TEST_F(RestartTest, AProgramIsFoundWithoutCompiling) {
  std::uint64_t count = 0;
  for (const char* source : {kStoredSource, kWarns, kPrints}) {
    const Run first = run(source, 5);
    EXPECT_EQ(first.result, 105);
    ASSERT_TRUE(has_stored(++count));
    start();
    const int before = sources;
    const Run again = run(source, 6);
    EXPECT_EQ(again.result, 106);
    EXPECT_EQ(again.described, first.described) << "the client sees no difference";
    EXPECT_EQ(again.printed, source == kPrints ? "value 6\n" : "");
    EXPECT_EQ(sources, before) << "the driver was given no source";
    EXPECT_EQ(store_->counts().hits, 1u);
  }
}

// Its message is handled twice: the native program is made only when a kernel needs it.
TEST_F(RestartTest, ATracedCommandThatWaitsForItsProgramIsCountedOnce) {
  run(kStoredSource, 5);
  ASSERT_TRUE(has_stored(1));
  start();
  WireClient client(server_->address());
  const ObjectId program = client.id(), queue = client.make_queue(), buffer = client.make_buffer(4);
  client.build(program, kStoredSource, "-DUNUSED=1");
  client.write<int>(queue, buffer, std::vector<int>{100});
  const ObjectId kernel = client.make_kernel(program, "f");
  const int value = 6;
  const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, value)};
  for (int i = 0; i < 2; ++i) {
    client.trace_next();
    client.enqueue(queue, kernel, 1, arguments);
  }
  client.send(FlushTrace{});
  for (const std::uint64_t number : {1u, 2u}) {
    const auto is_it = [number](const CommandTraced& one) { return one.number == number; };
    EXPECT_EQ(client.wait<CommandTraced>(is_it)->status, CL_COMPLETE);
  }
  EXPECT_EQ(store_->counts().hits, 1u);
}

// PoCL would compile the other kernel for the binary, and end the process if it cannot.
TEST_F(RestartTest, KernelsThatNobodyUsesAreNotCompiledForTheStore) {
  if (!server_->driver().devices()[0]->traits().quirks.compiles_for_binary)
    GTEST_SKIP() << "other drivers have the binary";
  run(kTwoKernels, 1);
  run(kStoredSource, 1);
  ASSERT_TRUE(has_stored(1));
  EXPECT_EQ(store_->counts().entries, 1u);
}

TEST_F(RestartTest, DamageOnTheDiskIsAProgramThatIsCompiled) {
  run(kStoredSource, 1);
  ASSERT_TRUE(has_stored(1));
  for (const auto& each : std::filesystem::directory_iterator(folder_.path() / "store")) {
    std::filesystem::resize_file(each, std::filesystem::file_size(each) - 1);
  }
  start();
  const int before = sources;
  EXPECT_EQ(run(kStoredSource, 7).result, 107);
  EXPECT_GT(sources, before);
  EXPECT_EQ(store_->counts().damaged, 1u);
}

class IsolatedRestartTest : public RestartTest {
 protected:
  IsolatedRestartTest() : RestartTest(isolation_with_store()) {}
};

TEST_F(IsolatedRestartTest, TheNextProcessFindsWhatOneHasBuilt) {
  const Run first = run(kTwoKernels, 5);
  EXPECT_EQ(first.result, 105);
  ASSERT_TRUE(has_stored(2)) << "the program, and what the driver has cached, when the session has ended, also with "
                                "kernels that it did not use";
  const Run second = run(kTwoKernels, 6);
  EXPECT_EQ(second.result, 106);
  EXPECT_EQ(second.described, first.described);
  EXPECT_EQ(store_->counts().hits, 2u);
  start();
  EXPECT_EQ(run(kTwoKernels, 7).result, 107);
  EXPECT_EQ(store_->counts().hits, 2u);
}

// What runs in the daemon trusts nothing that a contained process has stored.
TEST_F(IsolatedRestartTest, SessionsInTheDaemonDoNotFindThat) {
  run(kStoredSource, 5);
  ASSERT_TRUE(has_stored(2));
  Server direct(Address{"127.0.0.1", 0}, "0", std::nullopt, std::nullopt, LimitsTable(),
                std::optional<server::ProcessCommand>(), server::PeerRules(), store_.get());
  WireClient client(direct.address());
  const int before = sources;
  client.build(client.id(), kStoredSource, "-DUNUSED=1");
  EXPECT_GT(sources, before);
  EXPECT_EQ(store_->counts().hits, 0u);
}

}  // namespace
}  // namespace remotecl::testing
