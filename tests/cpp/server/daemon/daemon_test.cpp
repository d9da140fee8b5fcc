// The program itself: what it prints, how it ends.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Daemon {
 public:
  explicit Daemon(std::vector<std::string> arguments, const char* vendors = nullptr) {
    int in[2], out[2], err[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) std::abort();
    arguments.insert(arguments.begin(), {REMOTECL_SERVER_PROGRAM, "--no-store"});
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::dup2(err[1], 2);
      if (vendors != nullptr) ::setenv("OCL_ICD_VENDORS", vendors, 1);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    ::close(err[1]);
    in_ = in[1];
    out_ = out[0];
    err_ = err[0];
  }
  ~Daemon() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    close_stdin();
    ::close(out_);
    ::close(err_);
  }

  // Up to the line that says where it listens; throws when it ends before.
  Address start() {
    while (output_.find("listening on ") == std::string::npos || output_.back() != '\n') {
      char bytes[512];
      const ssize_t count = ::read(out_, bytes, sizeof bytes);
      if (count <= 0) throw std::runtime_error("the daemon did not start: " + errors());
      output_.append(bytes, static_cast<std::size_t>(count));
    }
    const std::size_t at = output_.find("listening on ") + 13;
    return parse_address(std::string_view(output_).substr(at, output_.size() - 1 - at), 0);
  }
  const std::string& output() const { return output_; }
  std::string errors() {
    std::string text;
    char bytes[512];
    for (ssize_t count = 0; (count = ::read(err_, bytes, sizeof bytes)) > 0;) {
      text.append(bytes, static_cast<std::size_t>(count));
    }
    return text;
  }
  // Its log up to a line that contains `words`; all of it when none comes in time.
  std::string errors_until(std::string_view words, Clock::duration time) {
    std::string text;
    char bytes[512];
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
      pollfd wait{err_, POLLIN, 0};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
      if (::poll(&wait, 1, static_cast<int>(left)) <= 0) break;
      const ssize_t count = ::read(err_, bytes, sizeof bytes);
      if (count <= 0) break;
      text.append(bytes, static_cast<std::size_t>(count));
      if (const std::size_t at = text.find(words); at != text.npos && text.find('\n', at) != text.npos) break;
    }
    return text;
  }
  // How many descriptors it may have.
  void limit_descriptors(rlim_t count) {
    const rlimit limit{count, kDescriptorsMax};
    ASSERT_EQ(::prlimit(process_, RLIMIT_NOFILE, &limit, nullptr), 0);
  }
  void write(std::string_view text) { ASSERT_EQ(::write(in_, text.data(), text.size()), ssize_t(text.size())); }
  static constexpr rlim_t kDescriptorsMax = 1024;
  void signal(int number) { ::kill(process_, number); }
  void close_stdin() {
    if (in_ >= 0) ::close(in_);
    in_ = -1;
  }
  // Its exit status; negative: killed by a signal.
  int wait() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t process_ = 0;
  int in_ = -1, out_ = -1, err_ = -1;
  std::string output_;
};

TEST(Daemon, PrintsDevicesAndAddress) {
  Daemon daemon({"--listen", "127.0.0.1:0"});
  const Address address = daemon.start();
  EXPECT_TRUE(daemon.output().starts_with("device 0: ")) << daemon.output();
  WireClient client(address);
  client.ping();
}

TEST(Daemon, ReportsVariablesThatMeanNothing) {
  struct Setting {
    Setting(const char* name, const char* value) : name(name) { ::setenv(name, value, 1); }
    ~Setting() { ::unsetenv(name); }
    const char* name;
  };
  const Setting memory("REMOTECL_SHARED_MEMORY", "banana"), poll("REMOTECL_BUSY_POLL", "x"),
      streams("REMOTECL_BULK_STREAMS", "9"), peers("REMOTECL_PEERS", "the client's");
  Daemon daemon({"--listen", "127.0.0.1:0"});
  daemon.start();
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  const std::string log = daemon.errors();
  for (const char* line :
       {"warning: REMOTECL_SHARED_MEMORY=banana means nothing and is ignored; it takes on or off\n",
        "warning: REMOTECL_BUSY_POLL=x means nothing and is ignored; it takes microseconds, 0 to ",
        "warning: REMOTECL_BULK_STREAMS=9 means nothing and is ignored; it takes connections, 1 to 8\n"}) {
    EXPECT_NE(log.find(line), std::string::npos) << line << log;
  }
  EXPECT_EQ(log.find("PEERS"), std::string::npos) << log;
}

TEST(Daemon, EndsCleanlyOnSignals) {
  for (const int number : {SIGINT, SIGTERM}) {
    Daemon daemon({"--listen", "127.0.0.1:0"});
    WireClient client(daemon.start());
    daemon.signal(number);
    EXPECT_EQ(daemon.wait(), 0);
  }
}

TEST(Daemon, EndsWithinASecondThoughWorkIsInFlight) {
  Daemon daemon({"--listen", "127.0.0.1:0"});
  WireClient client(daemon.start());
  const ObjectId program = client.id();
  client.build(program, kAddSource);
  const ObjectId spin = client.make_kernel(program, "spin"), queue = client.make_queue();
  const int rounds = 2'000'000'000;
  const KernelArgument arguments[] = {memory_argument(0, client.make_buffer(64)), value_argument(1, rounds)};
  for (int i = 0; i < 20; ++i) client.enqueue(queue, spin, 1, arguments);
  client.flush();
  client.ping();
  const auto start = Clock::now();
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  EXPECT_LT(Clock::now() - start, 1s);
}

TEST(Daemon, EndsWithItsStdinOnlyWhenAskedTo) {
  Daemon asked({"--listen", "127.0.0.1:0", "--exit-on-stdin-eof"});
  asked.start();
  asked.close_stdin();
  EXPECT_EQ(asked.wait(), 0);
  Daemon other({"--listen", "127.0.0.1:0"});
  const Address address = other.start();
  other.close_stdin();
  WireClient client(address);
  client.ping();
}

TEST(Daemon, PortInUse) {
  Daemon first({"--listen", "127.0.0.1:0"});
  const std::string address = first.start().text();
  Daemon second({"--listen", address});
  EXPECT_EQ(second.wait(), 1);
  const std::string errors = second.errors();
  EXPECT_NE(errors.find(address), std::string::npos) << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
}

TEST(Daemon, DeviceThatDoesNotExist) {
  Daemon daemon({"--listen", "127.0.0.1:0", "--devices", "no such device"});
  EXPECT_EQ(daemon.wait(), 1);
  const std::string errors = daemon.errors();
  EXPECT_NE(errors.find("no such device"), std::string::npos) << errors;
  EXPECT_NE(errors.find("0 ("), std::string::npos) << errors;
}

TEST(Daemon, NoDriver) {
  Daemon daemon({"--listen", "127.0.0.1:0"}, "/nonexistent/vendors");
  EXPECT_EQ(daemon.wait(), 1);
  const std::string errors = daemon.errors();
  EXPECT_NE(errors.find("no OpenCL driver"), std::string::npos) << errors;
}

TEST(Daemon, BadAddress) {
  Daemon daemon({"--listen", "localhost:port"});
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_NE(daemon.errors().find("\"localhost:port\""), std::string::npos);
}

TEST(Daemon, RefusesToListenBeyondLoopbackUnprotected) {
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    Daemon daemon({"--listen", address});
    EXPECT_EQ(daemon.wait(), 1);
    const std::string errors = daemon.errors();
    EXPECT_NE(errors.find(address), std::string::npos) << errors;
    for (const char* remedy : {"--token-file", "keygen", "--insecure"}) {
      EXPECT_NE(errors.find(remedy), std::string::npos) << errors;
    }
    EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
  }
}

TEST(Daemon, WarnsOnceWhereItListensUnprotectedOnRequest) {
  Daemon daemon({"--listen", "0.0.0.0:0", "--insecure"});
  const Address address = daemon.start();
  WireClient client({"127.0.0.1", address.port});
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  const std::string errors = daemon.errors();
  EXPECT_NE(errors.find("whoever reaches"), std::string::npos) << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
}

TEST(Daemon, TakesATokenFromItsStandardInputAndGoesOnWatchingThat) {
  Daemon daemon({"--listen", "0.0.0.0:0", "--token-file", "-", "--exit-on-stdin-eof"});
  daemon.write("a token of many characters\n");
  const Address address{"127.0.0.1", daemon.start().port};
  const auto connect = [&] { return tcp::connect(address, 5s); };
  EXPECT_EQ(shake_hands(*connect(), hello_of(Role::kControl))->status, WelcomeStatus::kTokenNeeded);
  const AccessToken token("a token of many characters", "a test");
  EXPECT_NE(handshake_with_server(*connect(), address, &token).session, 0u);
  daemon.close_stdin();
  EXPECT_EQ(daemon.wait(), 0);
  EXPECT_EQ(daemon.errors(), "");
}

TEST(Daemon, ReportsOnceThatItIsOutOfDescriptorsAndGoesOnWhenItHasSomeAgain) {
  Daemon daemon({"--listen", "127.0.0.1:0"});
  const Address address = daemon.start();
  daemon.limit_descriptors(3);
  std::vector<std::unique_ptr<Connection>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(tcp::connect(address, 5s));
  const std::string reported = daemon.errors_until("no connection can be accepted", 10s);
  EXPECT_NE(reported.find("Too many open files"), std::string::npos) << reported;
  EXPECT_NE(reported.find("ulimit -n"), std::string::npos) << reported;
  daemon.limit_descriptors(Daemon::kDescriptorsMax);
  EXPECT_EQ(shake_hands(*waiting.front(), hello_of(Role::kControl))->status, WelcomeStatus::kAccepted);
  WireClient client(address);
  client.ping();
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  const std::string log = reported + daemon.errors();
  const std::size_t first = log.find("no connection can be accepted");
  EXPECT_EQ(log.find("no connection can be accepted", first + 1), std::string::npos) << log;
  EXPECT_NE(log.find("connections are accepted again"), std::string::npos) << log;
}

TEST(Daemon, TokenThatIsNoneIsRefused) {
  Daemon daemon({"--listen", "127.0.0.1:0", "--token-file", "/nonexistent/token"});
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_NE(daemon.errors().find("/nonexistent/token"), std::string::npos);
}

}  // namespace
}  // namespace remotecl::testing
