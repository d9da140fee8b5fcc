#include "runtime/store/file_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "store/temporary_folder.h"

namespace remotecl::testing {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kMany = 1u << 20;

class FileDirectoryTest : public ::testing::Test {
 protected:
  std::string text(const std::string& name) {
    const auto bytes = directory_.read(name, kMany);
    return bytes ? std::string(as_text(*bytes)) : "(absent)";
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
  }
  static std::string objection_to(const fs::path& path) {
    try {
      FileDirectory directory(path);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path() / "a" / "store";
  FileDirectory directory_{folder_};
};

TEST_F(FileDirectoryTest, NobodyElseCanEnter) {
  EXPECT_EQ(mode_of(folder_), 0700u);
  EXPECT_EQ(mode_of(folder_.parent_path()), 0700u);
  ASSERT_TRUE(directory_.write("x", as_bytes("1")));
  EXPECT_EQ(mode_of(folder_ / "x"), 0600u);
}

TEST_F(FileDirectoryTest, IsNotOneThatOthersCanEnter) {
  fs::permissions(folder_, fs::perms(0755));
  EXPECT_NE(objection_to(folder_).find("chmod 700"), std::string::npos);
  fs::create_directory_symlink(folder_, temporary_.path() / "link");
  EXPECT_NE(objection_to(temporary_.path() / "link").find("cannot open"), std::string::npos);
  std::ofstream(temporary_.path() / "file") << "x";
  EXPECT_NE(objection_to(temporary_.path() / "file" / "store").find("cannot make"), std::string::npos);
}

TEST_F(FileDirectoryTest, ReadsWhatItWrites) {
  EXPECT_EQ(text("x"), "(absent)");
  ASSERT_TRUE(directory_.write("x", as_bytes("one")));
  ASSERT_TRUE(directory_.write("x", as_bytes("two")));
  EXPECT_EQ(text("x"), "two");
  EXPECT_FALSE(directory_.read("x", 2).has_value());
  const auto entries = directory_.list();
  ASSERT_EQ(entries.size(), 1u) << "nothing unfinished stays behind";
  EXPECT_EQ(entries[0].name, "x");
  EXPECT_EQ(entries[0].size, 3u);
  directory_.remove("x");
  EXPECT_EQ(text("x"), "(absent)");
}

TEST_F(FileDirectoryTest, FollowsNoLinksAndReadsNothingButFiles) {
  std::ofstream(temporary_.path() / "secret") << "secret";
  fs::create_symlink(temporary_.path() / "secret", folder_ / "link");
  EXPECT_EQ(text("link"), "(absent)");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(text("pipe"), "(absent)") << "and does not wait for a writer";
  fs::create_directory(folder_ / "folder");
  EXPECT_EQ(text("folder"), "(absent)");
  EXPECT_TRUE(directory_.list().empty());
  // What is written replaces the link, and not what it leads to.
  ASSERT_TRUE(directory_.write("link", as_bytes("ours")));
  EXPECT_EQ(text("link"), "ours");
  std::string word;
  std::ifstream(temporary_.path() / "secret") >> word;
  EXPECT_EQ(word, "secret");
  EXPECT_FALSE(directory_.write("folder", as_bytes("x")));
}

TEST_F(FileDirectoryTest, AUseIsSeenByAll) {
  ASSERT_TRUE(directory_.write("x", as_bytes("1")));
  const timespec past[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder_ / "x").c_str(), past, 0), 0);
  EXPECT_EQ(directory_.list()[0].used_ns, 1'000'000'000'000);
  directory_.mark_used("x");
  EXPECT_GT(FileDirectory(folder_).list()[0].used_ns, 1'000'000'000'000);
}

TEST_F(FileDirectoryTest, WhatAKilledWriterLeftGoesAfterAWhile) {
  std::ofstream(folder_ / ".new-1-1") << "half";
  std::ofstream(folder_ / ".new-2-1") << "being written";
  const timespec past[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder_ / ".new-1-1").c_str(), past, 0), 0);
  EXPECT_TRUE(directory_.list().empty());
  EXPECT_FALSE(fs::exists(folder_ / ".new-1-1"));
  EXPECT_TRUE(fs::exists(folder_ / ".new-2-1"));
}

// A limit of the file's size fails in the middle of the write, like a full disk.
TEST_F(FileDirectoryTest, WhatDoesNotFitOnTheDiskLeavesNothingBehind) {
  ASSERT_TRUE(directory_.write("x", as_bytes("before")));
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const bool is_written = directory_.write("x", std::vector<std::byte>(5000)).has_value();
    ::_exit(is_written ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it does not say that it has written";
  EXPECT_EQ(text("x"), "before");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

// Killed at any moment, a writer leaves the old content or the new.
TEST_F(FileDirectoryTest, AKilledWriterLeavesWholeEntries) {
  const std::vector<std::byte> a(200'000, std::byte{1}), b(300'000, std::byte{2});
  ASSERT_TRUE(directory_.write("x", a));
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        directory_.write("x", b);
        directory_.write("x", a);
      }
    }
    for (int reads = 0; reads < 10 + round; ++reads) {
      const auto found = directory_.read("x", kMany);
      ASSERT_TRUE(found == a || found == b);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto found = directory_.read("x", kMany);
    ASSERT_TRUE(found == a || found == b);
  }
}

}  // namespace
}  // namespace remotecl::testing
