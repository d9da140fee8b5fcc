// Builds that one server makes for others. With a driver that has binaries at once, and with one that has not (PoCL):
// there only the outcome is shared, and the native program is made when a kernel is used.
#include "server/program/shared_builds.h"

#include <optional>
#include <random>

#include "server/peer/peer_fixture.h"
#include "server/program/build_cache.h"
#include "server/program/source_counter.h"

namespace remotecl::testing {
namespace {

using server::BuildRecord;
using server::StoredBuilds;

// The fake driver knows the kernel by its name.
constexpr char kSource[] = "kernel void add_mv(global int* to, int value) { to[get_global_id(0)] += value; }";
constexpr char kWrong[] = "kernel void add_mv(global int* to, int value) { this is an error; }";

// Each test has programs of its own: drivers and servers keep what they have built.
std::string unique(std::string_view source) {
  static std::mt19937_64 random{std::random_device{}()};
  return std::string(source) + " // " + std::to_string(random());
}

template <class Client>
Token send_build(Client& client, ObjectId program, std::string_view source, PeerId builder, BuildId build,
                 std::string_view options = {}) {
  const Token token = client.id();
  const std::uint32_t device = 0;
  client.add(CreateProgramWithSource{program, as_bytes(source)});
  client.add(ShareBuild{program, build, builder, 1});
  client.send(BuildProgram{program, token, Array<std::uint32_t>(&device, 1), options, {}, {}});
  return token;
}

Received<BuildDone> wait_for(WireClient& client, Token token) {
  return client.wait<BuildDone>([token](const BuildDone& done) { return done.token == token; });
}

// As the client got it, without the token.
std::string described(const Received<BuildDone>& done) {
  return std::string(as_text(*done.bytes)).substr(sizeof(Token));
}

int result_of(WireClient& client, ObjectId queue, ObjectId program) {
  const ObjectId buffer = client.make_buffer(4);
  client.write<int>(queue, buffer, std::vector<int>{100});
  const int value = 7;
  const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, value)};
  client.enqueue(queue, client.make_kernel(program, "add_mv"), 1, arguments);
  return client.read<int>(queue, buffer, 1)[0];
}

// A driver without a binary of a new program compiles on each server; PoCL's skips these tests.
bool has_binaries(const server::Server& server) {
  return !server.driver().devices()[0]->traits().quirks.compiles_for_binary;
}

class SharedBuildsTest : public PeerTest {
 protected:
  void SetUp() override {
    PeerTest::SetUp();
    if (!has_binaries(server_)) GTEST_SKIP();
  }
  const ObjectId program_ = a_.id(), others_program_ = b_.id();
};

TEST_F(SharedBuildsTest, OneServerCompiles) {
  link();
  const std::string source = unique(kSource);
  const int before = sources;
  const Token first = send_build(a_, program_, source, 0, 5);
  const std::string reported = described(wait_for(a_, first));
  EXPECT_EQ(sources, before + 1);
  const Token second = send_build(b_, others_program_, source, kFirst, 5);
  EXPECT_EQ(described(wait_for(b_, second)), reported);
  EXPECT_EQ(sources, before + 1);
  EXPECT_EQ(result_of(a_, a_queue_, program_), 107);
  EXPECT_EQ(result_of(b_, b_queue_, others_program_), 107);
  EXPECT_EQ(sources, before + 1);
}

TEST_F(SharedBuildsTest, TheQuestionMayComeBeforeTheBuildAndTheLink) {
  const std::string source = unique(kSource);
  const int before = sources;
  const Token second = send_build(b_, others_program_, source, kFirst, 5);
  b_.ping();
  link();
  const Token first = send_build(a_, program_, source, 0, 5);
  EXPECT_EQ(described(wait_for(b_, second)), described(wait_for(a_, first)));
  EXPECT_EQ(sources, before + 1);
}

TEST_F(SharedBuildsTest, AFailureIsShared) {
  link();
  const std::string source = unique(kWrong);
  const int before = sources;
  const Token first = send_build(a_, program_, source, 0, 5);
  const auto reported = wait_for(a_, first);
  const Token second = send_build(b_, others_program_, source, kFirst, 5);
  EXPECT_EQ(described(wait_for(b_, second)), described(reported));
  reported->builds.for_each([](const DeviceBuild& build) {
    EXPECT_EQ(build.error, CL_BUILD_PROGRAM_FAILURE);
    EXPECT_NE(build.log, "");
  });
  EXPECT_EQ(sources, before + 1);
}

TEST_F(SharedBuildsTest, WhatIsUnlikeIsCompiledByBoth) {
  link();
  const std::string source = unique(kSource);
  const int before = sources;
  const Token first = send_build(a_, program_, source, 0, 5, "-DA=1");
  const Token second = send_build(b_, others_program_, source, kFirst, 5, "-DA=2");
  wait_for(a_, first);
  wait_for(b_, second);
  EXPECT_EQ(sources, before + 2);
  EXPECT_EQ(result_of(b_, b_queue_, others_program_), 107);
}

TEST_F(SharedBuildsTest, ABuilderThatIsGoneIsNotWaitedFor) {
  link();
  const int before = sources;
  const Token second = send_build(b_, others_program_, unique(kSource), kFirst, 5);
  b_.ping();
  b_.send(ClosePeer{kFirst, 1});
  wait_for(b_, second);
  EXPECT_EQ(sources, before + 1);
  EXPECT_EQ(result_of(b_, b_queue_, others_program_), 107);
}

// The message about a lost server overtakes what waits for a compiler, but not the signals that the client sent before
// it for that server.
TEST_F(SharedBuildsTest, WhatAServerThatIsGoneHadEndedStaysEnded) {
  link();
  const std::string source = unique(kSource);
  wait_for(a_, send_build(a_, program_, source, 0, 5));
  std::optional<HeldBuilds> held(std::in_place);
  wait_for(b_, send_build(b_, others_program_, source, kFirst, 5));
  const ObjectId kernel = b_.make_kernel(others_program_, "add_mv"), buffer = b_.make_buffer(64);
  const EventId ended = 1000, lost = 1001, ended_later = 1002;
  const std::vector<int> one{1};
  // The event of a write that waits for `event`.
  const auto write_after = [&](EventId event) {
    const EventId waits[] = {event};
    b_.write<int>(b_queue_, buffer, one, event + 100, waits);
    b_.add(ObserveEvent{event + 100});
    return event + 100;
  };
  b_.add(ExpectEvent{ended, kFirst});
  b_.add(ExpectEvent{lost, kFirst});
  const EventId after_ended = write_after(ended), after_lost = write_after(lost);
  const int value = 7;
  const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, value)};
  b_.enqueue(b_queue_, kernel, 1, arguments);
  b_.add(ExpectEvent{ended_later, kFirst});
  const EventId after_ended_later = write_after(ended_later);
  b_.add(SignalEvent{ended, CL_COMPLETE, kFirst});
  b_.add(SignalEvent{ended_later, CL_COMPLETE, kFirst});
  b_.add(ClosePeer{kFirst, 1});
  b_.flush();  // at once, so that all of it has come when the kernel begins to wait
  // While the compiler works.
  EXPECT_LT(b_.event_status(after_lost), 0);
  EXPECT_EQ(b_.event_status(after_ended), CL_COMPLETE);
  EXPECT_EQ(HeldBuilds::waiting(), 1);
  EXPECT_FALSE(b_.has_ended(after_ended_later));
  held.reset();
  EXPECT_EQ(b_.event_status(after_ended_later), CL_COMPLETE);
}

TEST_F(SharedBuildsTest, AnOldBuildIsForgotten) {
  link();
  const std::string source = unique(kSource);
  for (BuildId build = 5; build < 25; ++build) wait_for(a_, send_build(a_, a_.id(), source, 0, build));
  const int before = sources;
  wait_for(b_, send_build(b_, others_program_, source, kFirst, 5));
  EXPECT_EQ(sources, before + 1);
}

TEST_F(SharedBuildsTest, AProgramMayBeBuiltAgainBeforeItIsUsed) {
  link();
  const std::string source = unique(kSource);
  wait_for(a_, send_build(a_, program_, source, 0, 5));
  wait_for(b_, send_build(b_, others_program_, source, kFirst, 5));
  const std::uint32_t device = 0;
  const Token again = b_.id();
  b_.send(BuildProgram{others_program_, again, Array<std::uint32_t>(&device, 1), "", {}, {}});
  wait_for(b_, again);
  EXPECT_EQ(result_of(b_, b_queue_, others_program_), 107);
  const Token binary = b_.id();
  b_.send(GetProgramBinary{others_program_, 0, binary});
  EXPECT_FALSE(b_.wait<ProgramBinary>([binary](const auto& done) { return done.token == binary; })->binary.empty());
}

TEST_F(SharedBuildsTest, ALateProgramHasABinaryAndAnswersQuestions) {
  link();
  const std::string source = unique(kSource);
  wait_for(a_, send_build(a_, program_, source, 0, 5));
  wait_for(b_, send_build(b_, others_program_, source, kFirst, 5));
  const Token binary = b_.id();
  b_.send(GetProgramBinary{others_program_, 0, binary});
  EXPECT_FALSE(b_.wait<ProgramBinary>([binary](const auto& done) { return done.token == binary; })->binary.empty());
  const Token query = b_.id();
  b_.send(QueryKernel{b_.make_kernel(others_program_, "add_mv"),
                      0,
                      query,
                      KernelQuery::kWorkGroup,
                      CL_KERNEL_WORK_GROUP_SIZE,
                      {},
                      1,
                      sizeof(std::size_t)});
  EXPECT_EQ(b_.wait<NativeAnswer>([query](const auto& done) { return done.token == query; })->error, CL_SUCCESS);
}

// Plays the builder.
class SharedBuildsHostileTest : public HostilePeerTest {
 protected:
  void SetUp() override {
    HostilePeerTest::SetUp();
    if (!has_binaries(server_)) GTEST_SKIP();
  }
  // What A publishes of a program that it has compiled.
  std::vector<std::byte> entry_of(const std::string& source) {
    const ObjectId program = a_.id();
    const Received<BuildDone> done = a_.build(program, source);
    BuildRecord record;
    done->builds.for_each([&record](const DeviceBuild& build) { record = server::record_of(build); });
    const Token token = a_.id();
    a_.send(GetProgramBinary{program, 0, token});
    const auto binary = a_.wait<ProgramBinary>([token](const auto& each) { return each.token == token; });
    return StoredBuilds::encode(record, binary->binary);
  }
  void answer(const std::vector<std::byte>& entry, const Digest& sum) {
    say(PeerBuild{next<AskBuild>()->question, sum, entry});
  }
  void expect_result(const std::vector<std::byte>& entry, const Digest& sum, const std::string& what) {
    const ObjectId program = a_.id();
    const Token token = send_build(a_, program, unique(kSource), kSecond, ++build_);
    answer(entry, sum);
    wait_for(a_, token)->builds.for_each([&](const DeviceBuild& build) { EXPECT_EQ(build.error, CL_SUCCESS) << what; });
    EXPECT_EQ(result_of(a_, a_queue_, program), 107) << what;
    a_.send(ReleaseProgram{program});
  }
  BuildId build_ = 0;
};

TEST_F(SharedBuildsHostileTest, AnswerWithoutQuestion) {
  join();
  say(PeerBuild{1, {}, {}});
  expect_only_link_ends("not asked");
}

TEST_F(SharedBuildsHostileTest, TheSameAnswerTwice) {
  join();
  const Token token = send_build(a_, a_.id(), unique(kSource), kSecond, 5);
  const std::uint64_t question = next<AskBuild>()->question;
  for (int i = 0; i < 2; ++i) say(PeerBuild{question, {}, {}});
  wait_for(a_, token);
  expect_only_link_ends("not asked");
}

TEST_F(SharedBuildsHostileTest, ManyQuestionsAreAnswered) {
  join();
  constexpr std::uint64_t kCount = 100'000;
  for (std::uint64_t i = 1; i <= kCount; ++i) say(AskBuild{i, i, {}});
  // Those that were asked first may still get a build.
  for (std::uint64_t answers = 0; answers < kCount - 100; ++answers) next<PeerBuild>();
  a_.ping();
}

// What a peer says never decides what the driver is given.
TEST_F(SharedBuildsHostileTest, LiesAreCompiled) {
  join();
  const std::vector<std::byte> right = entry_of(unique(kSource));
  BuildRecord record;
  Bytes binary;
  ASSERT_TRUE(StoredBuilds::decode(right, record, binary));
  const auto say_entry = [&](const BuildRecord& said, const char* what) {
    const std::vector<std::byte> entry = StoredBuilds::encode(said, {});
    expect_result(entry, sha256(entry), what);
  };
  BuildRecord arguments = record;
  for (auto& argument : arguments.kernels[0].arguments) argument.values.kind = ArgumentKind::kValue;
  say_entry(arguments, "kinds of arguments");
  arguments.kernels[0].arguments.clear();
  say_entry(arguments, "no arguments");
  BuildRecord contradictory = record;
  contradictory.values.status = CL_BUILD_ERROR;
  say_entry(contradictory, "failed and executable");
  contradictory = record;
  contradictory.kernels.clear();
  say_entry(contradictory, "executable without kernels");
  contradictory = record;
  contradictory.values.error = CL_OUT_OF_RESOURCES;
  say_entry(contradictory, "an error that another server need not have");
}

TEST_F(SharedBuildsHostileTest, RefusedBinariesAreCompiled) {
  join();
  BuildRecord record;
  Bytes binary;
  const std::vector<std::byte> right = entry_of(unique(kSource));
  ASSERT_TRUE(StoredBuilds::decode(right, record, binary));
  const std::vector<std::byte> entry = StoredBuilds::encode(record, as_bytes("this is no binary"));
  const int before = sources;
  expect_result(entry, sha256(entry), "refused");
  EXPECT_EQ(sources, before + 1);
}

TEST_F(SharedBuildsHostileTest, DamageOnTheWayIsCompiled) {
  join();
  const std::vector<std::byte> right = entry_of(unique(kSource));
  // PoCL takes its time for each.
  constexpr std::uint32_t seeds = 1000;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> entry = right;
    if (random() % 3 == 0) {
      entry.resize(random() % entry.size());
    } else {
      for (unsigned i = 0; i <= random() % 4; ++i) entry[random() % entry.size()] ^= std::byte(1 + random() % 255);
    }
    if (entry == right) continue;
    expect_result(entry, sha256(right), "seed " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace remotecl::testing
