// Parts of a file as a source of the device "remotecl streams".
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "extras/streams/support/plugin_error.h"
#include "stream_program.h"

namespace remotecl::plugins {
namespace {

class FileSourceTest : public ::testing::Test {
 protected:
  FileSourceTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    std::ofstream(folder_ + "/digits") << "0123456789";
  }
  ~FileSourceTest() override { std::filesystem::remove_all(folder_); }

  std::string digits(const std::string& keys) const { return "file:" + folder_ + "/digits" + keys; }
  // All frames of the source, until its end or `most` of them.
  std::vector<std::string> frames(const std::string& keys, std::size_t most = 100) {
    StreamProgram program({"read:" + folder_});
    std::vector<std::string> frames;
    for (FrameInfo info; frames.size() < most;) {
      std::string frame;
      EXPECT_EQ(program.read(digits(keys), frame, info), 0) << program.why();
      if (info.flags == kFrameEnd) break;
      frames.push_back(frame);
    }
    return frames;
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "remotecl-file-XXXXXX").string();
};

using Frames = std::vector<std::string>;

TEST_F(FileSourceTest, APartIsOneFrame) {
  EXPECT_EQ(frames("?offset=3&bytes=4"), Frames{"3456"});
  EXPECT_EQ(frames("?offset=7"), Frames{"789"});
  EXPECT_EQ(frames("?bytes=2"), Frames{"01"});
}

TEST_F(FileSourceTest, APartEndsWithItsFile) {
  EXPECT_EQ(frames("?offset=8&bytes=100"), Frames{"89"});
  EXPECT_EQ(frames("?offset=10&bytes=1"), Frames{});
  EXPECT_EQ(frames("?offset=9223372036854775807&bytes=9223372036854775807"), Frames{});
  EXPECT_EQ(frames("?bytes=0"), Frames{});
}

TEST_F(FileSourceTest, APartHasRecordsAndBeginsAgain) {
  EXPECT_EQ(frames("?offset=2&bytes=5&records=2"), (Frames{"23", "45", "6"}));
  EXPECT_EQ(frames("?offset=2&bytes=3&records=2&loop=1", 4), (Frames{"23", "4", "23", "4"}));
}

TEST_F(FileSourceTest, AFileThatBecomesShorterFailsTheCall) {
  StreamProgram program({"read:" + folder_});
  std::string frame;
  FrameInfo info;
  EXPECT_EQ(program.read(digits("?records=4"), frame, info), 0) << program.why();
  std::filesystem::resize_file(folder_ + "/digits", 6);
  EXPECT_EQ(program.read(digits("?records=4"), frame, info), kGone);
  EXPECT_EQ(program.why(), "the file has become shorter");
}

TEST_F(FileSourceTest, SizesAreThoseOfParts) {
  StreamProgram program({"read:" + folder_});
  const auto size_of = [&](const std::string& keys) {
    std::uint64_t size = 99;
    EXPECT_EQ(program.size(digits(keys), size), 0) << program.why();
    return size;
  };
  EXPECT_EQ(size_of(""), 10u);
  EXPECT_EQ(size_of("?offset=3&bytes=4&records=2"), 4u);
  EXPECT_EQ(size_of("?offset=8&bytes=4"), 2u);
  EXPECT_EQ(size_of("?offset=20"), 0u);
}

TEST_F(FileSourceTest, SizesThatCannotBeKnownAreRefused) {
  StreamProgram program({"read:" + folder_});
  std::uint64_t size = 0;
  EXPECT_EQ(program.size("dir:" + folder_, size), kWrongName);
  EXPECT_EQ(program.size("file:" + folder_ + "/none", size), kGone);
  EXPECT_EQ(program.size("file:/etc/hostname", size), kNotAllowed);
  EXPECT_EQ(program.size(digits("?offset=-1"), size), kWrongName);
}

}  // namespace
}  // namespace remotecl::plugins
