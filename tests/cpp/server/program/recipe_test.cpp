// Programs that are created with a recipe in place of a binary, also with hostile ones.
#include <array>

#include "runtime/protocol/program_recipe.h"
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

constexpr char kAnswer[] = "kernel void f(global int* data) { data[0] = ANSWER; }";

class RecipeTest : public ServerTest {
 protected:
  static constexpr std::uint32_t kDevice = 0;

  WireClient client_{address()};

  static ProgramRecipe recipe(RecipeKind kind, std::string_view code, std::string_view options = "") {
    return {"which the client checks", kind, 0, as_bytes(code), options, {}, {}, {}, {}};
  }
  static std::vector<std::byte> sealed(const ProgramRecipe& recipe) {
    return seal(kRecipeMagic, kRecipeVersion, recipe);
  }
  static std::vector<std::byte> sealed_link(RecipeKind kind, const std::vector<std::vector<std::byte>>& inputs) {
    std::vector<RecipePart> parts;
    for (const auto& input : inputs) parts.push_back({{}, Bytes(input)});
    ProgramRecipe whole = recipe(kind, "", kind == RecipeKind::kLinkLibrary ? "-create-library" : "");
    whole.parts = std::span<const RecipePart>(parts);
    return sealed(whole);
  }
  Array<std::uint32_t> device() const { return Array<std::uint32_t>(&kDevice, 1); }
  ObjectId create(Bytes binary) {
    const ObjectId program = client_.id();
    client_.add(CreateProgramWithBinary{program, kDevice, binary});
    return program;
  }
  DeviceBuild done() {
    last_ = client_.wait<BuildDone>();
    DeviceBuild result{};
    last_->builds.for_each([&result](const DeviceBuild& build) { result = build; });
    return result;
  }
  DeviceBuild inspect(ObjectId program) {
    client_.send(InspectProgram{program, client_.id(), device()});
    return done();
  }
  DeviceBuild build(ObjectId program, std::string_view options = "") {
    client_.send(BuildProgram{program, client_.id(), device(), options, {}, {}});
    return done();
  }
  int result_of(ObjectId program) {
    const ObjectId queue = client_.make_queue(), buffer = client_.make_buffer(4);
    const KernelArgument argument = memory_argument(0, buffer);
    client_.enqueue(queue, client_.make_kernel(program, "f"), 1, std::span(&argument, 1));
    return client_.read<int>(queue, buffer, 1)[0];
  }
  void expect_invalid(Bytes binary, std::string_view why) {
    for (const DeviceBuild& answer : {inspect(create(binary)), build(create(binary))}) {
      EXPECT_EQ(answer.error, CL_INVALID_BINARY) << why;
    }
    const DeviceBuild answer = build(create(binary));
    EXPECT_NE(answer.log.find(why), std::string_view::npos) << answer.log;
  }

 private:
  Received<BuildDone> last_;  // what done() gives views of
};

TEST_F(RecipeTest, IsInspectedLikeABinaryAndBuiltLikeASource) {
  const ObjectId program = create(sealed(recipe(RecipeKind::kBuild, kAnswer, "-D ANSWER=42")));
  const DeviceBuild inspected = inspect(program);
  EXPECT_EQ(inspected.error, CL_SUCCESS);
  EXPECT_EQ(inspected.status, CL_BUILD_NONE);
  EXPECT_EQ(inspected.executable, 0u);
  EXPECT_EQ(inspected.binary_type, static_cast<std::uint32_t>(CL_PROGRAM_BINARY_TYPE_EXECUTABLE));
  const DeviceBuild built = build(program, "-D ANSWER=41");
  EXPECT_EQ(built.error, CL_SUCCESS) << built.log;
  EXPECT_EQ(built.kernels.size(), 1u);
  EXPECT_EQ(result_of(program), 42);
}

TEST_F(RecipeTest, HasHeadersAndIncludedPrograms) {
  const HeaderFile header{"/home/user/one.h", as_bytes("#define ONE 1\n")};
  const IncludeFolder folder{"/home/user"};
  const RecipePart included{"names/forty.h", as_bytes("#define FORTY 40\n")};
  ProgramRecipe object = recipe(RecipeKind::kCompile,
                                "#include <one.h>\n#include \"names/forty.h\"\nint other(int);\n"
                                "kernel void f(global int* data) { data[0] = other(ONE + FORTY); }");
  object.headers = std::span(&header, 1);
  object.include_folders = std::span(&folder, 1);
  object.parts = std::span(&included, 1);
  const auto library = sealed_link(
      RecipeKind::kLinkLibrary, {sealed(recipe(RecipeKind::kCompile, "int other(int value) { return value + 1; }"))});
  const ObjectId program = create(sealed_link(RecipeKind::kLink, {sealed(object), library}));
  EXPECT_EQ(inspect(program).binary_type, static_cast<std::uint32_t>(CL_PROGRAM_BINARY_TYPE_EXECUTABLE));
  const DeviceBuild built = build(program);
  EXPECT_EQ(built.error, CL_SUCCESS) << built.log;
  EXPECT_EQ(result_of(program), 42);

  const ObjectId parts[] = {create(sealed(object)), create(library)};
  const DeviceBuild compiled = inspect(parts[0]);
  EXPECT_EQ(compiled.error, CL_SUCCESS) << compiled.log;
  EXPECT_EQ(compiled.status, CL_BUILD_NONE);
  EXPECT_EQ(compiled.binary_type, static_cast<std::uint32_t>(CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT));
  EXPECT_EQ(inspect(parts[1]).binary_type, static_cast<std::uint32_t>(CL_PROGRAM_BINARY_TYPE_LIBRARY));
  const ObjectId linked = client_.id();
  client_.send(LinkProgram{linked, client_.id(), device(), "", Array<ObjectId>(parts, 2)});
  EXPECT_EQ(done().error, CL_SUCCESS);
  EXPECT_EQ(result_of(linked), 42);
}

TEST_F(RecipeTest, OfWhatCannotBeBuiltFailsLikeItsSource) {
  const ObjectId wrong = create(sealed(recipe(RecipeKind::kBuild, "kernel void f() { this is an error; }")));
  EXPECT_EQ(inspect(wrong).error, CL_SUCCESS);
  EXPECT_EQ(build(wrong).error, CL_BUILD_PROGRAM_FAILURE);
  const auto object = sealed(recipe(RecipeKind::kCompile, "kernel void f() { this is an error; }"));
  EXPECT_EQ(inspect(create(object)).error, CL_INVALID_BINARY);
  const DeviceBuild linked = build(create(sealed_link(RecipeKind::kLink, {object})));
  EXPECT_EQ(linked.error, CL_COMPILE_PROGRAM_FAILURE);
  EXPECT_NE(linked.log.find("error"), std::string_view::npos) << linked.log;
}

TEST_F(RecipeTest, IsNoWayToTheServersFiles) {
  const auto options = sealed(recipe(RecipeKind::kBuild, kAnswer, "-include /etc/passwd"));
  EXPECT_EQ(build(create(options)).error, CL_INVALID_BUILD_OPTIONS);
  const auto source = sealed(recipe(RecipeKind::kBuild, "#include \"/etc/passwd\"\n"));
  EXPECT_EQ(build(create(source)).error, CL_BUILD_PROGRAM_FAILURE);
  for (const char* const path : {"relative.h", "/home/../../etc/x.h"}) {
    const HeaderFile header{path, as_bytes("#define ONE 1\n")};
    ProgramRecipe outside = recipe(RecipeKind::kBuild, kAnswer, "-D ANSWER=1");
    outside.headers = std::span(&header, 1);
    EXPECT_EQ(build(create(sealed(outside))).error, CL_INVALID_BINARY) << path;
    outside.kind = RecipeKind::kCompile;
    EXPECT_EQ(inspect(create(sealed(outside))).error, CL_INVALID_BINARY) << path;
  }
  EXPECT_EQ(build(create(sealed(recipe(RecipeKind::kBuild, kAnswer, "-D ANSWER=1")))).error, CL_SUCCESS);
}

TEST_F(RecipeTest, ThatIsDamagedOrAbsurdIsAnInvalidBinary) {
  const auto good = sealed(recipe(RecipeKind::kBuild, kAnswer, "-D ANSWER=1"));
  expect_invalid(Bytes(good).first(8), "cut off");
  expect_invalid(Bytes(good).first(good.size() - 1), "cut off");
  auto changed = good;
  changed.back() ^= std::byte{1};
  expect_invalid(changed, "changed");
  auto newer = good;
  newer[8] = std::byte{2};
  expect_invalid(newer, "version 2");
  expect_invalid(sealed(recipe(static_cast<RecipeKind>(4), kAnswer)), "content");
  auto more = good;
  more.push_back({});
  const Digest digest = sha256(Bytes(more).subspan(kSealedHeadingSize));
  std::copy_n(reinterpret_cast<const std::byte*>(digest.data()), digest.size(), more.begin() + 12);
  expect_invalid(more, "content");
  expect_invalid(sealed_link(RecipeKind::kLink, {good, changed}), "changed");
  auto deep = sealed(recipe(RecipeKind::kCompile, "int one(void) { return 1; }"));
  for (int i = 0; i < 1000; ++i) deep = sealed_link(RecipeKind::kLinkLibrary, {deep});
  expect_invalid(sealed_link(RecipeKind::kLink, {deep}), "libraries in libraries");
}

}  // namespace
}  // namespace remotecl::testing
