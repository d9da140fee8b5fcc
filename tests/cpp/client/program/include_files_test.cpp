#include "runtime/client/program/include_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace remotecl {
namespace {

namespace fs = std::filesystem;

class IncludeFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "remotecl-include-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& content) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << content;
  }
  std::string path(const std::string& name) const { return (root_ / name).lexically_normal().string(); }
  static bool has(const IncludeFiles& found, const std::string& path) {
    return std::any_of(found.files.begin(), found.files.end(), [&](const auto& file) { return file.path == path; });
  }

  fs::path root_;
};

TEST_F(IncludeFilesTest, OptionsWithoutIncludeFoldersStayAsTheyAre) {
  const auto found = find_include_files({""}, "-cl-fast-relaxed-math -DNAME=\"a b\" -D X=1");
  EXPECT_EQ(found.options, "-cl-fast-relaxed-math -DNAME=\"a b\" -D X=1");
  EXPECT_TRUE(found.folders.empty());
}

TEST_F(IncludeFilesTest, TakesFoldersOutOfTheOptionsInBothSpellings) {
  write("with blank/a.h", "");
  const auto found = find_include_files({"#include <a.h>"}, "-I /one -DX -I/two -I \"" + path("with blank") + "\" -w");
  EXPECT_EQ(found.options, "-DX -w");
  EXPECT_EQ(found.folders, (std::vector<std::string>{"/one", "/two", path("with blank")}));
}

// PyOpenCL adds a folder of its own to all programs.
TEST_F(IncludeFilesTest, FoldersFromWhichNothingComesAreNotNamed) {
  write("inc/a.h", "");
  const auto found = find_include_files({"#include <missing.h>\nkernel void k() {}"}, "-I " + path("inc") + " -DX");
  EXPECT_EQ(found.options, "-DX");
  EXPECT_TRUE(found.folders.empty());
  EXPECT_TRUE(found.files.empty());
}

TEST_F(IncludeFilesTest, FolderMissingAfterOption) {
  EXPECT_THROW(find_include_files({""}, "-DX -I"), std::invalid_argument);
}

TEST_F(IncludeFilesTest, FollowsIncludesOfIncludedFiles) {
  write("inc/a.h", "#include \"sub/b.h\"\n");
  write("inc/sub/b.h", "  #  include <c.h>\n");
  write("other/c.h", "int c;\n");
  const auto found = find_include_files({"#include <a.h>\n"}, "-I " + path("inc") + " -I " + path("other"));
  EXPECT_TRUE(has(found, path("inc/a.h")));
  EXPECT_TRUE(has(found, path("inc/sub/b.h")));
  EXPECT_TRUE(has(found, path("other/c.h")));
}

TEST_F(IncludeFilesTest, FirstFolderWins) {
  write("one/a.h", "1");
  write("two/a.h", "2");
  const auto found = find_include_files({"#include \"a.h\""}, "-I " + path("one") + " -I " + path("two"));
  ASSERT_EQ(found.files.size(), 1u);
  EXPECT_EQ(found.files[0].content, "1");
}

TEST_F(IncludeFilesTest, FileBesideTheIncludingFileComesBeforeTheFolders) {
  write("inc/sub/a.h", "#include \"b.h\"\n");
  write("inc/sub/b.h", "near");
  write("inc/b.h", "far");
  const auto found = find_include_files({"#include <sub/a.h>"}, "-I " + path("inc"));
  EXPECT_TRUE(has(found, path("inc/sub/b.h")));
  EXPECT_FALSE(has(found, path("inc/b.h")));
}

TEST_F(IncludeFilesTest, AbsoluteNames) {
  write("a.h", "#include <" + path("b.h") + ">\n");
  write("b.h", "");
  const std::string source = "#include \"" + path("a.h") + "\"";
  const auto found = find_include_files({source}, "");
  EXPECT_TRUE(has(found, path("a.h")) && has(found, path("b.h")));
  EXPECT_TRUE(found.folders.empty());
}

TEST_F(IncludeFilesTest, NamesThatMacrosMake) {
  write("inc/a.h", "#define LAST <last.h>\n");
  write("inc/last.h", "");
  write("6.2/h/b.h", "");
  const std::string options = "-I " + path("inc") + " -D DIR=\"" + path("6.2/h") + "\" -D XS(x)=#x -DS(x)=XS(x)";
  // LAST is defined in a file that a later line includes.
  const auto found =
      find_include_files({"#include LAST\n#include S(DIR/b.h)\n#define h 3\n#include S(a.h)\n"}, options);
  EXPECT_TRUE(has(found, path("inc/a.h")));
  EXPECT_TRUE(has(found, path("6.2/h/b.h")));
  EXPECT_TRUE(has(found, path("inc/last.h")));
}

TEST_F(IncludeFilesTest, BothBranches) {
  for (const char* name : {"inc/a.h", "inc/b.h", "inc/c.h"}) write(name, "");
  const auto found = find_include_files(
      {"#if __OPENCL_VERSION__ > 200\n#define N \"a.h\"\n#else\n#define N \"b.h\"\n#endif\n#include N\n"
       "#ifdef cl_khr_fp64\n#include <c.h>\n#endif"},
      "-I " + path("inc"));
  EXPECT_EQ(found.files.size(), 3u);
}

TEST_F(IncludeFilesTest, FilesThatAreAskedForAndTheNextOnes) {
  write("one/a.h", "#include_next <a.h>\n");
  write("two/a.h", "");
  write("two/b.h", "");
  const auto found = find_include_files({"#if defined(X) && __has_include ( <b.h> )\n#endif\n#import <a.h>"},
                                        "-I " + path("one") + " -I " + path("two"));
  EXPECT_TRUE(has(found, path("one/a.h")) && has(found, path("two/a.h")) && has(found, path("two/b.h")));
}

TEST_F(IncludeFilesTest, NamesOfProgramsAreNoFiles) {
  write("inc/a.h", "");
  EXPECT_TRUE(find_include_files({"#include <a.h>"}, "-I " + path("inc"), {"a.h"}).files.empty());
}

TEST_F(IncludeFilesTest, CyclesEndAndMissingFilesAreLeftToTheCompiler) {
  write("inc/a.h", "#include <a.h>\n#include <missing.h>\n");
  const auto found = find_include_files({"#include <a.h>"}, "-I " + path("inc"));
  EXPECT_EQ(found.files.size(), 1u);
}

}  // namespace
}  // namespace remotecl
