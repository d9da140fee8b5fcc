// Daemons that are killed, stopped and started again at random moments, while clients give them random commands and
// check every result; clients that are killed. REMOTECL_TEST_SEED repeats a run, REMOTECL_TEST_KILLS makes it longer.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "icd/kill_plan.h"
#include "runtime/client/session/monitor.h"
#include "runtime/client/session/session.h"
#include "runtime/client/session/session_group.h"
#include "support/daemon.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Those of each server, a bit for each.
constexpr unsigned kDevices[KillPlan::kServers] = {1, 2 + 4, 8};

// A client has to be done by then, a session's end to be known.
constexpr auto kPatience = 30s;

std::uint64_t first_seed() {
  const char* given = std::getenv("REMOTECL_TEST_SEED");
  return given != nullptr ? std::stoull(given) : std::random_device{}();
}

int wanted_kills() {
  const char* given = std::getenv("REMOTECL_TEST_KILLS");
  return given != nullptr ? std::stoi(given) : 12;
}

// A daemon at an address that stays the same when it is killed and started again.
class Server {
 public:
  explicit Server(std::vector<std::string> environment) : environment_(std::move(environment)) { start(); }

  const std::string& address() {
    address_ = daemon_->address();
    return address_;
  }
  void start() {
    daemon_.reset();
    daemon_ =
        std::make_unique<Daemon>(environment_, std::vector<std::string>{}, address_.empty() ? "127.0.0.1:0" : address_);
    idle_descriptors_ = 0;
  }
  void kill() { daemon_->kill(); }
  void stop() { daemon_->signal(SIGSTOP); }
  void go_on() { daemon_->signal(SIGCONT); }
  bool running() { return daemon_->running(); }
  int pid() { return daemon_->process(); }

  // Waits for the end of all sessions; all that they had has to be free again.
  void expect_idle();

 private:
  // Makes the daemon open what it opens with the first session that has several streams and keeps then.
  void warm_up() {
    ServerName name = parse_server_name(address(), 0);
    name.streams = KillPlan::kStreamsMax;
    SessionGroup group;
    Session session(group, name, 0);
    EXPECT_EQ(session.bulk_streams(), KillPlan::kStreamsMax);
    session.close();
  }
  std::size_t descriptors() const {
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(daemon_->process()) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  const std::vector<std::string> environment_;
  std::string address_;
  std::unique_ptr<Daemon> daemon_;
  std::size_t idle_descriptors_ = 0;  // after its first sessions; 0: not known
};

void Server::expect_idle() {
  if (idle_descriptors_ == 0) warm_up();
  Monitor monitor(parse_server_name(address(), 0));
  std::uint64_t sessions = 0, memory = 0;
  std::size_t files = 0;
  const auto deadline = Clock::now() + kPatience;
  do {
    const StatusReply reply = monitor.ask();
    sessions = reply.status.session_count;
    memory = 0;
    reply.status.devices.for_each([&](const DeviceStatus& device) { memory += device.memory_used; });
    files = descriptors();
    const bool is_idle = sessions == 0 && memory == 0;
    // The fewest, because the first count may include descriptors that are about to be closed.
    if (is_idle && (idle_descriptors_ == 0 || files < idle_descriptors_)) idle_descriptors_ = files;
    if (is_idle && files <= idle_descriptors_) return;
    std::this_thread::sleep_for(10ms);
  } while (Clock::now() < deadline);
  ADD_FAILURE() << address_ << " keeps " << sessions << " sessions, " << memory << " bytes and " << files
                << " descriptors, " << idle_descriptors_ << " when it was idle before";
}

struct Client {
  Client(const std::string& servers, std::uint64_t seed, const KillPlan& plan)
      : process({REMOTECL_RANDOM_CLIENT, "--gtest_brief=1"},
                {"REMOTECL_TEST_SERVERS=" + servers, "REMOTECL_TEST_SEED=" + std::to_string(seed),
                 "REMOTECL_RECONNECT=" + plan.window_text(), "REMOTECL_BULK_STREAMS=" + std::to_string(plan.streams),
                 std::string("REMOTECL_SHARED_MEMORY=") + (plan.shares_memory ? "on" : "off")}) {}

  ChildProcess process;
  unsigned lost = 0;  // devices whose servers were killed while it used them
  bool is_killed = false;
};

struct Totals {
  int rounds = 0, kills = 0, restarts = 0, stops = 0, killed_clients = 0;
  std::uint64_t commands = 0, failures = 0, longest_call_ms = 0;
};

class KillTest : public ::testing::Test {
 protected:
  KillTest() {
    // For warm_up(), whose session has several streams only if there are more of them than channels.
    ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);
    ::setenv("REMOTECL_BULK_CHANNELS", "1", 1);
    // Links between servers use shared memory where both do. One server has two devices.
    for (unsigned i = 0; i < KillPlan::kServers; ++i) {
      servers_.push_back(std::make_unique<Server>(
          std::vector<std::string>{std::string("REMOTECL_SHARED_MEMORY=") + (i == 2 ? "off" : "on"),
                                   std::string("POCL_DEVICES=") + (i == 1 ? "pthread pthread" : "pthread"),
                                   "REMOTECL_BULK_STREAMS=" + std::to_string(KillPlan::kStreamsMax)}));
    }
  }

  void play(const KillPlan& plan);
  void carry_out(const KillPlan& plan, const KillPlan::Step& step);
  void start_client(const KillPlan& plan);
  void expect_end(Client& client);
  void tidy_up(const KillPlan& plan);

  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Client>> clients_;
  Totals totals_;
};

void KillTest::start_client(const KillPlan& plan) {
  std::string names;
  for (const auto& server : servers_) names += (names.empty() ? "" : ",") + server->address();
  clients_.push_back(std::make_unique<Client>(names, plan.seed * 8 + clients_.size(), plan));
  clients_.back()->process.said("ready", Clock::now() + kPatience);
}

void KillTest::carry_out(const KillPlan& plan, const KillPlan::Step& step) {
  using Kind = KillPlan::Step::Kind;
  switch (step.kind) {
    case Kind::kKillServer:
      servers_[step.which]->kill();
      for (const auto& client : clients_) client->lost |= kDevices[step.which];
      ++totals_.kills;
      return;
    case Kind::kStartServer:
      servers_[step.which]->start();
      ++totals_.restarts;
      return;
    case Kind::kStopServer:
      servers_[step.which]->stop();
      ++totals_.stops;
      return;
    case Kind::kContinueServer:
      servers_[step.which]->go_on();
      return;
    case Kind::kKillClient:
      clients_[step.which]->process.end(SIGKILL);
      clients_[step.which]->is_killed = true;
      ++totals_.killed_clients;
      return;
    case Kind::kStartClient:
      start_client(plan);
  }
}

void KillTest::expect_end(Client& client) {
  if (client.is_killed) return;
  client.process.close_input();
  const int status = client.process.wait(Clock::now() + kPatience);
  ASSERT_NE(status, ChildProcess::kRunning) << "a client hangs:\n" << client.process.output();
  ASSERT_EQ(status, 0) << client.process.output();
  EXPECT_EQ(client.process.said("lost="), std::to_string(client.lost));
  totals_.commands += std::stoull(client.process.said("commands="));
  totals_.failures += std::stoull(client.process.said("failures="));
  totals_.longest_call_ms =
      std::max<std::uint64_t>(totals_.longest_call_ms, std::stoull(client.process.said("longest_call_ms=")));
}

// Daemons that are gone are started again, a new client uses all, and those that were there have to be free of all
// sessions. With the first commands drivers open descriptors that they keep; that client gives such commands to all.
void KillTest::tidy_up(const KillPlan& plan) {
  clients_.clear();
  std::vector<Server*> survivors;
  for (const auto& server : servers_) {
    if (server->running()) {
      survivors.push_back(server.get());
    } else {
      server->start();
    }
  }
  start_client(plan);
  std::this_thread::sleep_for(300ms);
  expect_end(*clients_.back());
  clients_.clear();
  for (Server* server : survivors) server->expect_idle();
}

void KillTest::play(const KillPlan& plan) {
  for (int i = 0; i < plan.clients; ++i) start_client(plan);
  const auto begin = Clock::now();
  for (const KillPlan::Step& step : plan.steps) {
    std::this_thread::sleep_until(begin + step.at);
    carry_out(plan, step);
  }
  // The survivors get some work after the loss.
  std::this_thread::sleep_for(plan.window + 100ms);
  for (const auto& client : clients_) expect_end(*client);
  if (HasFatalFailure()) return;
  tidy_up(plan);
  ++totals_.rounds;
}

TEST_F(KillTest, EveryResultIsRightOrAnErrorAndNothingIsKept) {
  for (std::uint64_t seed = first_seed(); totals_.kills < wanted_kills(); ++seed) {
    const KillPlan plan(seed);
    std::cout << "seed " << seed << std::endl;
    play(plan);
    if (HasFailure()) {
      std::cout << "repeat with REMOTECL_TEST_SEED=" << seed << ":\n" << plan.text();
      return;
    }
  }
  std::cout << totals_.rounds << " rounds: " << totals_.kills << " daemons killed, " << totals_.restarts
            << " of them started again meanwhile, " << totals_.stops << " stopped for a while, "
            << totals_.killed_clients << " clients killed; " << totals_.commands << " commands, " << totals_.failures
            << " of them failed, " << totals_.longest_call_ms << " ms for the longest call\n";
}

}  // namespace
}  // namespace remotecl::testing
