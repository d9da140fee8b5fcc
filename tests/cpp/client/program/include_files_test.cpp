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
  const auto found = find_include_files("", "-cl-fast-relaxed-math -DNAME=\"a b\" -D X=1");
  EXPECT_EQ(found.options, "-cl-fast-relaxed-math -DNAME=\"a b\" -D X=1");
  EXPECT_TRUE(found.folders.empty());
}

TEST_F(IncludeFilesTest, TakesFoldersOutOfTheOptionsInBothSpellings) {
  write("with blank/a.h", "");
  const auto found = find_include_files("#include <a.h>", "-I /one -DX -I/two -I \"" + path("with blank") + "\" -w");
  EXPECT_EQ(found.options, "-DX -w");
  EXPECT_EQ(found.folders, (std::vector<std::string>{"/one", "/two", path("with blank")}));
}

// PyOpenCL adds a folder of its own to all programs.
TEST_F(IncludeFilesTest, FoldersFromWhichNothingComesAreNotNamed) {
  write("inc/a.h", "");
  const auto found = find_include_files("#include <missing.h>\nkernel void k() {}", "-I " + path("inc") + " -DX");
  EXPECT_EQ(found.options, "-DX");
  EXPECT_TRUE(found.folders.empty());
  EXPECT_TRUE(found.files.empty());
}

TEST_F(IncludeFilesTest, FolderMissingAfterOption) {
  EXPECT_THROW(find_include_files("", "-DX -I"), std::invalid_argument);
}

TEST_F(IncludeFilesTest, FollowsIncludesOfIncludedFiles) {
  write("inc/a.h", "#include \"sub/b.h\"\n");
  write("inc/sub/b.h", "  #  include <c.h>\n");
  write("other/c.h", "int c;\n");
  const auto found = find_include_files("#include <a.h>\n", "-I " + path("inc") + " -I " + path("other"));
  EXPECT_TRUE(has(found, path("inc/a.h")));
  EXPECT_TRUE(has(found, path("inc/sub/b.h")));
  EXPECT_TRUE(has(found, path("other/c.h")));
}

TEST_F(IncludeFilesTest, FirstFolderWins) {
  write("one/a.h", "1");
  write("two/a.h", "2");
  const auto found = find_include_files("#include \"a.h\"", "-I " + path("one") + " -I " + path("two"));
  ASSERT_EQ(found.files.size(), 1u);
  EXPECT_EQ(found.files[0].content, "1");
}

TEST_F(IncludeFilesTest, FileBesideTheIncludingFileComesBeforeTheFolders) {
  write("inc/sub/a.h", "#include \"b.h\"\n");
  write("inc/sub/b.h", "near");
  write("inc/b.h", "far");
  const auto found = find_include_files("#include <sub/a.h>", "-I " + path("inc"));
  EXPECT_TRUE(has(found, path("inc/sub/b.h")));
  EXPECT_FALSE(has(found, path("inc/b.h")));
}

TEST_F(IncludeFilesTest, CyclesEndAndMissingFilesAreLeftToTheCompiler) {
  write("inc/a.h", "#include <a.h>\n#include <missing.h>\n");
  const auto found = find_include_files("#include <a.h>", "-I " + path("inc"));
  EXPECT_EQ(found.files.size(), 1u);
}

}  // namespace
}  // namespace remotecl
