// Objects, libraries and linked programs that outlive the process.
#include <set>

#include "server/program/build_cache.h"
#include "server/program/restart_fixture.h"
#include "server/program/source_counter.h"

namespace remotecl::testing {
namespace {

using server::BuildCache;
using server::BuildRecord;
using server::BuildReport;
using server::IncludedSource;
using server::LinkInput;
using server::Native;
using server::ProgramOrigin;
using server::StoredBuilds;
using server::StoredRequest;
using server::WrittenFiles;

// The fake driver knows the kernel by its name.
constexpr char kMain[] = R"(
#include "names/factor.h"
int scaled(int value, int factor);
kernel void add_mv(global int* to, int value) { to[get_global_id(0)] += scaled(value, FACTOR); })";
constexpr char kFactor[] = "#define FACTOR 1\n";
constexpr char kScaled[] = "int scaled(int value, int factor) { return value * factor; }";
constexpr char kWarnsToo[] =
    "#warning so it has a build log\nint scaled(int value, int factor) { return value * factor; }";

class StoredLinksTest : public ::testing::Test {
 protected:
  struct Made {
    Native<cl_program> native;
    std::optional<Digest> key;
    bool succeeded;
  };

  std::optional<Digest> object_key(std::string_view code, std::string_view options = {},
                                   const std::vector<std::pair<std::string, std::string>>& included = {},
                                   ProgramOrigin included_origin = ProgramOrigin::kSource) {
    std::vector<IncludedSource> sources;
    for (const auto& [name, text] : included) sources.push_back({make_program(text, included_origin), name});
    return builds().object_key(*make_program(code), {options, {}, {}}, sources, device_);
  }
  StoredBuilds& builds() { return *cache_.stored(); }
  // As daemons that were started anew.
  template <class Make>
  Made make(const std::string& owner, Make&& make) {
    Store store = open_store(folder_);
    BuildCache cache(&store);
    BuildReport report;
    Native<cl_program> native(make(report, *cache.stored(), StoredRequest{{}, owner}));
    cache.stored()->save_all(std::chrono::steady_clock::now() + std::chrono::minutes(1));
    counts_ = store.counts();
    const auto& part = report.part(0);
    return {std::move(native), part ? std::optional(part->key) : std::nullopt, part.has_value()};
  }
  Made compile(const char* source, const std::string& owner = "alice") {
    return make(owner, [&](BuildReport& report, StoredBuilds& store, const StoredRequest& request) {
      return report.compile(*make_program(source), device_, WrittenFiles(), {}, store, request);
    });
  }
  Made link(const Made& part, const std::string& options = "", const std::string& owner = "alice") {
    return make(owner, [&](BuildReport& report, StoredBuilds& store, const StoredRequest& request) {
      std::vector<LinkInput> inputs;
      inputs.push_back({part.native.copy(), part.key});
      return report.link(device_, options, inputs, store, request.owner, [] { return server::FileLock(); });
    });
  }

  server::NativeDriver driver_{"0"};
  server::Device& device_ = *driver_.devices().front();
  const std::shared_ptr<FakeFolder> folder_ = std::make_shared<FakeFolder>();
  Store store_ = open_store(std::make_shared<FakeFolder>());
  BuildCache cache_{&store_};
  Store::Counts counts_;
};

TEST_F(StoredLinksTest, AllThatAnObjectDependsOnIsInItsKey) {
  const std::vector<std::optional<Digest>> keys = {
      builds().key(*make_program("a"), {}, device_),
      object_key("a"),
      object_key("b"),
      object_key("a", "-DX"),
      object_key("a", {}, {{"x.h", "1"}}),
      object_key("a", {}, {{"x.h", "2"}}),
      object_key("a", {}, {{"y.h", "1"}}),
      object_key("a", {}, {{"x.h", "1"}, {"y.h", "1"}}),
      object_key("a", {}, {{"y.h", "1"}, {"x.h", "1"}}),
      object_key("#include \"x/y.h\"\n", {}, {{"x/y.h", "1"}}),
  };
  std::set<Digest> different;
  for (const auto& each : keys) {
    ASSERT_TRUE(each.has_value());
    different.insert(*each);
  }
  EXPECT_EQ(different.size(), keys.size());
  EXPECT_EQ(object_key("a", {}, {{"x.h", "1"}}), object_key("a", {}, {{"x.h", "1"}}));
}

TEST_F(StoredLinksTest, AnObjectThatMayDependOnSomethingElseHasNoKey) {
  EXPECT_FALSE(object_key("#include \"x.h\"\n"));
  EXPECT_FALSE(object_key("#include \"x.h\"\n", {}, {{"y.h", "1"}}));
  EXPECT_FALSE(object_key("#include \"x.h\"\n", {}, {{"x.h", "#include \"y.h\"\n"}}));
  EXPECT_FALSE(object_key("a", {}, {{"x.h", "constant char when[] = __TIME__;"}}));
  EXPECT_FALSE(object_key("a", {}, {{"x.h", "IL"}}, ProgramOrigin::kIl));
}

TEST_F(StoredLinksTest, AllThatALinkDependsOnIsInItsKey) {
  const auto a = object_key("a"), b = object_key("b"), binary = std::optional(StoredBuilds::binary_key(as_bytes("a")));
  const auto key = [&](std::string_view options, const std::vector<std::optional<Digest>>& inputs) {
    return builds().link_key(options, inputs, device_);
  };
  const std::vector<std::optional<Digest>> keys = {
      key("", {a}),
      key("", {b}),
      key("", {a, b}),
      key("", {b, a}),
      key("", {a, a}),
      key("-x", {a}),
      key("", {binary}),
      a,
      key("-create-library", {a}),
      key("", {std::optional(StoredBuilds::binary_key(as_bytes("b")))}),
  };
  std::set<Digest> different;
  for (const auto& each : keys) {
    ASSERT_TRUE(each.has_value());
    different.insert(*each);
  }
  EXPECT_EQ(different.size(), keys.size());
  EXPECT_FALSE(key("", {a, std::nullopt})) << "what one is made of is not known";
}

TEST_F(StoredLinksTest, AnotherUserCompilesAndLinks) {
  const Made library = link(compile(kScaled), "-create-library");
  EXPECT_TRUE(library.succeeded);
  const int sources_before = sources, links_before = links;
  link(compile(kScaled), "-create-library");
  EXPECT_EQ(sources, sources_before);
  EXPECT_EQ(links, links_before);
  link(compile(kScaled, "bob"), "-create-library", "bob");
  EXPECT_GT(sources, sources_before);
  EXPECT_GT(links, links_before);
}

TEST_F(StoredLinksTest, WhatTheDriverDoesNotTakeIsCompiled) {
  const Made object = compile(kScaled), library = link(object, "-create-library");
  std::vector<std::byte> of_object, of_library;
  {
    Store store = open_store(folder_);
    of_object = *store.find("alice", *object.key);
    of_library = *store.find("alice", *library.key);
  }
  BuildRecord record{};
  Bytes binary;
  ASSERT_TRUE(StoredBuilds::decode(of_object, record, binary));
  const std::vector<std::vector<std::byte>> wrong = {
      {},
      std::vector<std::byte>(of_object.begin(), of_object.end() - 1),
      StoredBuilds::encode(record, as_bytes("this is no binary")),
      StoredBuilds::encode(record, {}),
      of_library,
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    open_store(folder_).keep("alice", *object.key, wrong[i]);
    const int before = sources;
    EXPECT_TRUE(compile(kScaled).succeeded) << i;
    EXPECT_GT(sources, before) << i;
    open_store(folder_).keep("alice", *library.key, wrong[i] == of_library ? of_object : wrong[i]);
    const int links_before = links;
    EXPECT_TRUE(link(object, "-create-library").succeeded) << i;
    EXPECT_GT(links, links_before) << i;
  }
}

TEST_F(StoredLinksTest, WhatFailsIsNotStoredAndHasNoKey) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(compile("int scaled( { this is an error").succeeded);
    EXPECT_EQ(counts_.entries, 0u);
  }
}

// A session that compiles and links, with a server that may be started anew.
class LinkRestartTest : public RestartFixture {
 protected:
  using RestartFixture::RestartFixture;

  struct Run {
    std::vector<std::string> described;  // as the client got it, without the tokens
    int result = 0;
  };

  class Session {
   public:
    explicit Session(const Address& address) : client_(address) { client_.introduce({1}); }

    ObjectId source(std::string_view text) {
      const ObjectId program = client_.id();
      client_.add(CreateProgramWithSource{program, as_bytes(text)});
      return program;
    }
    ObjectId compiled(ObjectId program, std::span<const IncludedProgram> included = {}) {
      client_.send(CompileProgram{program, client_.id(), device(), "", {}, {}, included});
      note();
      return program;
    }
    ObjectId linked(std::span<const ObjectId> inputs, std::string_view options = "") {
      const ObjectId program = client_.id();
      client_.send(LinkProgram{program, client_.id(), device(), options, inputs});
      note();
      return program;
    }
    Run run(ObjectId program, int value) {
      const ObjectId queue = client_.make_queue(), buffer = client_.make_buffer(4);
      client_.write<int>(queue, buffer, std::vector<int>{100});
      const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, value)};
      client_.enqueue(queue, client_.make_kernel(program, "add_mv"), 1, arguments);
      run_.result = client_.read<int>(queue, buffer, 1)[0];
      return run_;
    }
    std::vector<std::byte> binary(ObjectId program) {
      client_.send(GetProgramBinary{program, 0, client_.id()});
      const auto answer = client_.wait<ProgramBinary>();
      return {answer->binary.begin(), answer->binary.end()};
    }
    ObjectId loaded(Bytes binary) {
      const ObjectId program = client_.id();
      client_.add(CreateProgramWithBinary{program, 0, binary});
      client_.send(InspectProgram{program, client_.id(), device()});
      note();
      return program;
    }

   private:
    static Array<std::uint32_t> device() {
      static constexpr std::uint32_t kDevice = 0;
      return Array<std::uint32_t>(&kDevice, 1);
    }
    void note() {
      const auto done = client_.wait<BuildDone>();
      done->builds.for_each([](const DeviceBuild& build) { EXPECT_EQ(build.error, CL_SUCCESS) << build.log; });
      run_.described.emplace_back(as_text(*done.bytes).substr(sizeof(Token)));
    }

    WireClient client_;
    Run run_;
  };

  // Two objects and an executable.
  Run run(int value, const char* scaled = kScaled) {
    Session session(server_->address());
    const IncludedProgram included{session.source(kFactor), "names/factor.h"};
    const ObjectId parts[] = {session.compiled(session.source(kMain), std::span(&included, 1)),
                              session.compiled(session.source(scaled))};
    return session.run(session.linked(parts), value);
  }
};

TEST_F(LinkRestartTest, ObjectsAndExecutablesAreFoundWithoutCompilingOrLinking) {
  std::uint64_t count = 0;
  for (const char* scaled : {kScaled, kWarnsToo}) {
    const Run first = run(5, scaled);
    EXPECT_EQ(first.result, 105);
    ASSERT_TRUE(has_stored(count += scaled == kScaled ? 3 : 2)) << "the main object is there already";
    start();
    const int sources_before = sources, links_before = links;
    const Run again = run(6, scaled);
    EXPECT_EQ(again.result, 106);
    EXPECT_EQ(again.described, first.described) << "the client sees no difference";
    EXPECT_EQ(sources, sources_before) << "the driver was given no source";
    EXPECT_EQ(links, links_before);
    EXPECT_EQ(store_->counts().hits, 3u);
  }
}

TEST_F(LinkRestartTest, ObjectsThatWereFoundAreLinkedWithOthers) {
  run(5);
  ASSERT_TRUE(has_stored(3));
  start();
  const int links_before = links;
  EXPECT_EQ(run(6, kWarnsToo).result, 106);
  EXPECT_EQ(store_->counts().hits, 1u);
  EXPECT_EQ(links, links_before + 1);
}

TEST_F(LinkRestartTest, LibrariesAndBinariesOfTheClientAreFoundToo) {
  std::vector<std::byte> binary;
  const auto run = [&] {
    Session session(server_->address());
    const IncludedProgram included{session.source(kFactor), "names/factor.h"};
    const ObjectId main = session.compiled(session.source(kMain), std::span(&included, 1));
    const ObjectId part = session.compiled(session.source(kScaled));
    const ObjectId library = session.linked(std::span(&part, 1), "-create-library");
    const std::vector<std::byte> now = session.binary(library);
    EXPECT_FALSE(now.empty());
    if (binary.empty()) binary = now;
    EXPECT_EQ(now, binary) << "the one that is found is the same";
    EXPECT_FALSE(session.binary(part).empty());
    const ObjectId parts[] = {main, session.loaded(binary)};
    return session.run(session.linked(parts), 5);
  };
  const Run first = run();
  EXPECT_EQ(first.result, 105);
  ASSERT_TRUE(has_stored(4));
  start();
  const int sources_before = sources, links_before = links;
  const Run again = run();
  EXPECT_EQ(again.result, 105);
  EXPECT_EQ(again.described, first.described);
  EXPECT_EQ(sources, sources_before);
  EXPECT_EQ(links, links_before);
  EXPECT_EQ(store_->counts().hits, 4u);
}

TEST_F(LinkRestartTest, DamageOnTheDiskIsWhatIsCompiledAndLinked) {
  run(5);
  ASSERT_TRUE(has_stored(3));
  for (const auto& each : std::filesystem::directory_iterator(folder_.path() / "store")) {
    std::filesystem::resize_file(each, std::filesystem::file_size(each) - 1);
  }
  start();
  const int sources_before = sources, links_before = links;
  EXPECT_EQ(run(7).result, 107);
  EXPECT_GT(sources, sources_before);
  EXPECT_GT(links, links_before);
  EXPECT_EQ(store_->counts().damaged, 3u);
}

TEST_F(LinkRestartTest, ADriverWithoutBinariesOfObjectsCompilesThem) {
  hides_objects = true;
  const Run first = run(5);
  const bool has_linked = has_stored(1);
  start();
  const int sources_before = sources, links_before = links;
  const Run again = run(6);
  hides_objects = false;
  EXPECT_EQ(first.result, 105);
  EXPECT_TRUE(has_linked);
  EXPECT_EQ(again.result, 106);
  EXPECT_EQ(again.described, first.described);
  EXPECT_GT(sources, sources_before);
  EXPECT_EQ(links, links_before) << "the linked program has a binary";
  EXPECT_EQ(store_->counts().hits, 1u);
}

class IsolatedLinkRestartTest : public LinkRestartTest {
 protected:
  IsolatedLinkRestartTest() : LinkRestartTest(isolation_with_store()) {}
};

TEST_F(IsolatedLinkRestartTest, TheNextProcessFindsWhatOneHasLinked) {
  const Run first = run(5);
  EXPECT_EQ(first.result, 105);
  ASSERT_TRUE(has_stored(3));
  const Run again = run(6);
  EXPECT_EQ(again.result, 106);
  EXPECT_EQ(again.described, first.described);
  EXPECT_EQ(store_->counts().hits, 3u);
}

}  // namespace
}  // namespace remotecl::testing
