#include "server/program/program_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <set>
#include <system_error>

#include "store/temporary_folder.h"

namespace remotecl::testing {
namespace {

namespace fs = std::filesystem;
using namespace server;

class ProgramFilesTest : public ::testing::Test {
 protected:
  WrittenFiles write() { return files_.write({{}, {}, std::span<const HeaderFile>(headers_)}); }
  fs::path base() const { return fs::path(folder_.path()) / ("remotecl-" + std::to_string(::geteuid())); }

  const TemporaryFolder folder_;
  ProgramFiles files_{folder_.path()};
  const std::string content_ = std::string(4096, ' ');
  const std::vector<HeaderFile> headers_{{"/home/client/table.h", as_bytes(content_)}};
};

// Drivers use the options as keys of what they keep for later processes, and a contained process's folder has another
// name each time.
TEST_F(ProgramFilesTest, InTheWorkingFolderOptionsDoNotDependOnItsName) {
  const std::vector<IncludeFolder> folders{{"/home/client"}};
  const ClientFiles sent{"-Werror", std::span(folders), std::span<const HeaderFile>(headers_)};
  const fs::path before = fs::current_path();
  std::set<std::string> options;
  for (int i = 0; i < 2; ++i) {
    const TemporaryFolder folder;
    fs::current_path(folder.path());
    {
      const WrittenFiles written = ProgramFiles(folder.path()).write(sent);
      const std::string& all = *options.insert(written.options()).first;
      EXPECT_TRUE(fs::is_regular_file(fs::path(all.substr(all.find("-I ") + 3)) / "table.h")) << all;
      EXPECT_EQ(written.client_log(all.substr(all.find("-I ") + 3) + "/table.h:1"), "/home/client/table.h:1");
    }
    fs::current_path(before);
  }
  EXPECT_EQ(options.size(), 1u);
}

// As by systemd-tmpfiles, which removes what nobody has used for ten days.
TEST_F(ProgramFilesTest, TheFolderMayBeRemovedMeanwhile) {
  fs::remove_all(base());
  const WrittenFiles written = write();
  EXPECT_EQ(std::distance(fs::directory_iterator(base()), {}), 1);
}

TEST_F(ProgramFilesTest, TheFolderMayBeRemovedBeforeALink) {
  fs::remove_all(base());
  const FileLock lock = files_.lock_links([] {});
  EXPECT_TRUE(fs::exists(base() / "link.lock"));
}

TEST_F(ProgramFilesTest, AFolderThatSomebodyElseMayHavePreparedIsNotUsed) {
  fs::permissions(base(), fs::perms::all);
  EXPECT_THROW(write(), fs::filesystem_error);
  files_.lock_links([] {});
  EXPECT_TRUE(fs::is_empty(base()));
}

TEST_F(ProgramFilesTest, AFailureHasItsReason) {
  const auto former = ::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit few{content_.size() / 2, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &few), 0);
  std::error_code reason;
  try {
    write();
  } catch (const fs::filesystem_error& error) {
    reason = error.code();
  }
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, former);
  EXPECT_EQ(reason, std::errc::file_too_large);
}

}  // namespace
}  // namespace remotecl::testing
