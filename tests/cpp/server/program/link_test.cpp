// Programs that are compiled, linked, inspected and queried, by hand.
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

class LinkTest : public ServerTest {
 protected:
  static constexpr std::uint32_t kDevice = 0;
  static constexpr const char* kMain = R"(
#include "names/value.h"
int next(int);
kernel void f(global int* data) { data[0] = next(VALUE); })";

  WireClient client_{address()};

  ObjectId source(std::string_view text) {
    const ObjectId program = client_.id();
    client_.add(CreateProgramWithSource{program, as_bytes(text)});
    return program;
  }
  Array<std::uint32_t> device() const { return Array<std::uint32_t>(&kDevice, 1); }
  DeviceBuild done() {
    last_ = client_.wait<BuildDone>();
    DeviceBuild result{};
    last_->builds.for_each([&result](const DeviceBuild& build) { result = build; });
    return result;
  }
  DeviceBuild compile(ObjectId program, std::span<const IncludedProgram> included = {}) {
    client_.send(CompileProgram{program, client_.id(), device(), "", {}, {}, included});
    return done();
  }
  DeviceBuild link(ObjectId program, std::span<const ObjectId> inputs, std::string_view options = "") {
    client_.send(LinkProgram{program, client_.id(), device(), options, inputs});
    return done();
  }

 private:
  Received<BuildDone> last_;  // what done() gives views of
};

TEST_F(LinkTest, CompiledProgramsBecomeOneThatRuns) {
  const ObjectId header = source("#define VALUE 41\n");
  const IncludedProgram included{header, "names/value.h"};
  const ObjectId parts[] = {source(kMain), source("int next(int value) { return value + 1; }")};
  const DeviceBuild compiled = compile(parts[0], std::span(&included, 1));
  EXPECT_EQ(compiled.error, CL_SUCCESS) << compiled.log;
  EXPECT_EQ(compiled.binary_type, static_cast<std::uint32_t>(CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT));
  EXPECT_EQ(compiled.executable, 0u);
  EXPECT_EQ(compile(parts[1]).error, CL_SUCCESS);
  const ObjectId linked = client_.id();
  const DeviceBuild result = link(linked, parts);
  EXPECT_EQ(result.error, CL_SUCCESS) << result.log;
  EXPECT_EQ(result.executable, 1u);
  EXPECT_EQ(result.kernels.size(), 1u);
  for (const ObjectId part : parts) client_.add(ReleaseProgram{part});
  const ObjectId queue = client_.make_queue(), buffer = client_.make_buffer(4),
                 kernel = client_.make_kernel(linked, "f");
  const KernelArgument argument = memory_argument(0, buffer);
  client_.enqueue(queue, kernel, 1, std::span(&argument, 1));
  EXPECT_EQ(client_.read<int>(queue, buffer, 1), std::vector<int>{42});
}

TEST_F(LinkTest, APartThatWasReleasedInTheSameBatchIsStillLinked) {
  const ObjectId part = source("kernel void f() {}");
  const ObjectId linked = client_.id();
  client_.add(CompileProgram{part, client_.id(), device(), "", {}, {}, {}});
  client_.add(LinkProgram{linked, client_.id(), device(), "", std::span(&part, 1)});
  client_.add(ReleaseProgram{part});
  client_.flush();
  EXPECT_EQ(done().error, CL_SUCCESS);
  EXPECT_EQ(done().error, CL_SUCCESS);
}

TEST_F(LinkTest, AnIncludedNameStaysInItsFolder) {
  const ObjectId header = source("#define VALUE 41\n"), main = source(kMain);
  for (const char* name : {"../value.h", "names/../../value.h", ".."}) {
    const IncludedProgram included{header, name};
    EXPECT_EQ(compile(main, std::span(&included, 1)).error, CL_INVALID_VALUE) << name;
  }
}

TEST_F(LinkTest, WhatIsNotCompiledCannotBeLinkedAndWhatIsLinkedCannotBeBuilt) {
  const ObjectId raw = source("kernel void f() {}"), linked = client_.id(), other = client_.id();
  EXPECT_EQ(link(linked, std::span(&raw, 1)).error, CL_INVALID_OPERATION);
  EXPECT_EQ(compile(raw).error, CL_SUCCESS);
  EXPECT_EQ(link(other, std::span(&raw, 1)).error, CL_SUCCESS);
  client_.send(BuildProgram{other, client_.id(), device(), "", {}, {}});
  EXPECT_EQ(done().error, CL_INVALID_OPERATION);
}

TEST_F(LinkTest, ProgramsThatDoNotExistEndTheSession) {
  const ObjectId missing = 987654;
  client_.send(LinkProgram{client_.id(), client_.id(), device(), "", std::span(&missing, 1)});
  expect_session_error(client_, "987654");
  WireClient another(address());
  const ObjectId program = another.id();
  another.add(CreateProgramWithSource{program, as_bytes("kernel void f() {}")});
  const IncludedProgram included{missing, "a.h"};
  another.send(CompileProgram{program, another.id(), device(), "", {}, {}, std::span(&included, 1)});
  expect_session_error(another, "987654");
}

TEST_F(LinkTest, ABinaryBelongsToAProgramWithBinaries) {
  client_.send(AddProgramBinary{source("kernel void f() {}"), kDevice, as_bytes("binary")});
  expect_session_error(client_, "without binaries");
}

TEST_F(LinkTest, InspectingTellsABinaryFromGarbage) {
  const ObjectId program = client_.id(), garbage = client_.id();
  client_.build(program, "kernel void f() {}");
  client_.send(GetProgramBinary{program, kDevice, client_.id()});
  const auto binary = client_.wait<ProgramBinary>();
  const ObjectId copy = client_.id();
  client_.add(CreateProgramWithBinary{copy, kDevice, binary->binary});
  client_.add(CreateProgramWithBinary{garbage, kDevice, as_bytes("this is no binary of any driver")});
  client_.add(InspectProgram{copy, client_.id(), device()});
  client_.send(InspectProgram{garbage, client_.id(), device()});
  const DeviceBuild good = done();
  EXPECT_EQ(good.error, CL_SUCCESS);
  EXPECT_EQ(good.status, CL_BUILD_NONE);
  EXPECT_EQ(good.binary_type, static_cast<std::uint32_t>(CL_PROGRAM_BINARY_TYPE_EXECUTABLE));
  const bool looks_later = server_.driver().device(0)->traits().platform_name == "NVIDIA CUDA";  // when it builds
  EXPECT_EQ(done().error, looks_later ? CL_SUCCESS : CL_INVALID_BINARY);
}

TEST_F(LinkTest, QueriesOfAKernelComeFromTheDriver) {
  const ObjectId program = client_.id();
  client_.build(program, "kernel void f() {}");
  const ObjectId kernel = client_.make_kernel(program, "f");
  const auto ask = [&](ObjectId of, std::uint32_t name, std::uint64_t size) {
    client_.send(QueryKernel{of, kDevice, client_.id(), KernelQuery::kWorkGroup, name, {}, 1, size});
    return client_.wait<NativeAnswer>();
  };
  const auto answer = ask(kernel, CL_KERNEL_WORK_GROUP_SIZE, ~std::uint64_t{0});
  EXPECT_EQ(answer->error, CL_SUCCESS);
  EXPECT_EQ(answer->size, sizeof(std::size_t));
  EXPECT_EQ(answer->value.size(), sizeof(std::size_t));
  EXPECT_EQ(ask(kernel, CL_KERNEL_WORK_GROUP_SIZE, 1)->error, CL_INVALID_VALUE);
  EXPECT_EQ(ask(kernel, 0x7777, 8)->error, CL_INVALID_VALUE);
  EXPECT_EQ(ask(client_.id(), CL_KERNEL_WORK_GROUP_SIZE, 8)->error, CL_INVALID_KERNEL);
}

TEST_F(LinkTest, ASuggestionNeedsADriverThatMakesOne) {
  const ObjectId program = client_.id();
  client_.build(program, "kernel void f() {}");
  const ObjectId queue = client_.make_queue(), kernel = client_.make_kernel(program, "f");
  client_.send(SuggestLocalSize{queue, kernel, client_.id(), 1, {}, {64, 1, 1}, {}});
  const auto answer = client_.wait<NativeAnswer>();
  EXPECT_TRUE(answer->error == CL_SUCCESS || answer->error == CL_INVALID_OPERATION) << answer->error;
  client_.send(SuggestLocalSize{queue, kernel, client_.id(), 9, {}, {64, 1, 1}, {}});
  EXPECT_LT(client_.wait<NativeAnswer>()->error, 0);
}

}  // namespace
}  // namespace remotecl::testing
