#include "server/isolation/session_cgroup.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace remotecl::server {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

// A process that waits to be killed. Kills it, if nobody has, when it is destroyed.
class WaitingProcess {
 public:
  WaitingProcess() : id_(::fork()) {
    for (; id_ == 0;) ::pause();
  }
  ~WaitingProcess() {
    ::kill(id_, SIGKILL);
    end_signal();
  }

  pid_t id() const { return id_; }
  int end_signal() {
    int status = 0;
    return ::waitpid(id_, &status, 0) == id_ && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  const pid_t id_;
};

// A group of this machine, as a service manager would give it to a service. Skips the test where groups of version 2
// count no processes.
class SessionCgroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path root = "/sys/fs/cgroup";
    if (first_line(root / "cgroup.controllers").find("pids") == std::string::npos || ::geteuid() != 0) {
      GTEST_SKIP() << "needs root, and control groups of version 2 with the controller pids; make rdma-short has them";
    }
    std::ofstream(root / "cgroup.subtree_control") << "+pids +memory" << std::flush;
    group_ = root / ("remotecl-test-" + std::to_string(::getpid()));
    fs::create_directory(group_);
    std::ofstream(group_ / "cgroup.procs") << service_->id() << std::flush;
  }
  void TearDown() override {
    service_.reset();
    std::error_code ignored;
    fs::remove(group_ / "daemon", ignored);
    fs::remove(group_, ignored);
  }

  void mark() { ASSERT_EQ(::setxattr(group_.c_str(), DelegatedCgroup::kMark, "1", 1, 0), 0); }

  std::optional<WaitingProcess> service_{std::in_place};
  fs::path group_;
};

TEST_F(SessionCgroupTest, AGroupThatWasNotDelegatedIsLeftAlone) {
  const DelegatedCgroup parent(group_);
  EXPECT_FALSE(parent.is_available());
  SessionCgroup(parent).take(service_->id());
  EXPECT_EQ(first_line(group_ / "cgroup.procs"), std::to_string(service_->id()));
  EXPECT_FALSE(fs::exists(group_ / "daemon"));
}

TEST_F(SessionCgroupTest, AProcessIsCountedByItself) {
  mark();
  const DelegatedCgroup parent(group_);
  ASSERT_TRUE(parent.is_available());
  EXPECT_EQ(first_line(group_ / "daemon" / "cgroup.procs"), std::to_string(service_->id()));

  WaitingProcess process;
  const fs::path own = group_ / ("session-" + std::to_string(process.id()));
  {
    SessionCgroup group(parent);
    group.take(process.id());
    EXPECT_EQ(first_line(own / "cgroup.procs"), std::to_string(process.id()));
    EXPECT_EQ(first_line(own / "pids.current"), "1");
    EXPECT_EQ(first_line(own / "pids.max"), "4096");
    EXPECT_EQ(first_line(own / "memory.oom.group"), "1");
    group.kill();
    EXPECT_EQ(process.end_signal(), SIGKILL);
  }
  EXPECT_FALSE(fs::exists(own));
  EXPECT_EQ(first_line(group_ / "daemon" / "cgroup.procs"), std::to_string(service_->id()));
}

}  // namespace
}  // namespace remotecl::server
