// Sessions whose kernels do not end.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "fakes/wire/wire_monitor.h"
#include "server/isolation/endless.h"
#include "server/isolation/ends.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

LimitsTable limits_of(std::optional<std::uint64_t> sessions, std::optional<std::uint64_t> command_seconds) {
  LimitsTable limits;
  limits.standard.sessions = sessions;
  limits.standard.command_seconds = command_seconds;
  return limits;
}

TEST(EndingTest, WithAProcessOfItsOwnASessionEndsWhateverItsKernelsDo) {
  server::Server server(Address{"127.0.0.1", 0}, "0", {}, {}, limits_of(1, {}), isolation());
  {
    EndlessWork work(server.address());
    work.run_endless();
  }
  ASSERT_TRUE(is_empty(server));
  EndlessWork next(server.address());  // the user may have one session at a time
  EXPECT_EQ(WireMonitor(server.address()).ask().status.session_count, 1u);
  EXPECT_NE(server.metrics().find("remotecl_sessions_crashed_total 0"), std::string::npos);
}

// Links of one user's daemons take turns. The lock is that of the daemon.
TEST(EndingTest, WhoWaitsForAnothersLinkEndsWithItsClient) {
  const char* const temporary = std::getenv("TMPDIR");
  server::Server server(Address{"127.0.0.1", 0}, "0");
  const std::string path = std::string(temporary != nullptr ? temporary : "/tmp") + "/remotecl-" +
                           std::to_string(::geteuid()) + "/link.lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);
  {
    WireClient client(server.address());
    const ObjectId program = client.id(), linked = client.id();
    const std::uint32_t device = 0;
    client.add(CreateProgramWithSource{program, as_bytes("kernel void k() {}")});
    client.send(CompileProgram{program, client.id(), Array<std::uint32_t>(&device, 1), "", {}, {}, {}});
    client.wait<BuildDone>();
    client.send(LinkProgram{linked, client.id(), Array<std::uint32_t>(&device, 1), "", Array<ObjectId>(&program, 1)});
    client.ping();
  }
  EXPECT_TRUE(is_empty(server));
  ::close(file);
}

TEST(EndingTest, WhoRunsACommandForTooLongIsToldAndEnds) {
  server::Server server(Address{"127.0.0.1", 0}, "0", {}, {}, limits_of({}, 1), isolation());
  EndlessWork work(server.address());
  work.run_endless();
  const auto error = work.client.wait<SessionError>();
  EXPECT_NE(error->text.find("command-seconds"), std::string::npos) << error->text;
  EXPECT_TRUE(is_empty(server));
}

}  // namespace
}  // namespace remotecl::testing
