#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/settings.h"
#include "runtime/handshake/rdma_wish.h"
#include "runtime/handshake/stripes.h"
#include "runtime/transport/address.h"
#include "runtime/transport/shm/shared_memory.h"
#include "runtime/transport/tcp/dead_peer_detector.h"
#include "runtime/transport/threads/wait_policy.h"
#include "runtime/transport/tls/certificate.h"
#include "server/daemon/extras.h"
#include "server/daemon/metrics_port.h"
#include "server/daemon/options.h"
#include "server/daemon/rdma_options.h"
#include "server/daemon/server.h"
#include "server/daemon/systemd_notify.h"
#include "server/isolation/isolation.h"
#include "server/isolation/session_environment.h"
#include "server/isolation/session_process.h"
#include "server/util/log.h"
#ifdef REMOTECL_HAS_RDMA
#include "extras/rdma/rdma_offload.h"
#endif
#ifdef REMOTECL_HAS_STREAMS
#include "extras/streams/setup/plugin_setup.h"
#endif

namespace {

using namespace remotecl;
using server::Options;

// The command that runs this program for one session.
server::ProcessCommand session_process(const Options& options, bool has_store, const std::string& rdma) {
  server::ProcessCommand command{
      "/proc/self/exe",
      {"remotecl-server", "--session-process", "--devices", options.devices.devices, "--log-level", options.log_level}};
  const auto add = [&command](const char* option, const std::string& value) {
    command.arguments.insert(command.arguments.end(), {option, value});
  };
  if (!options.isolation.containment.user.empty()) add("--session-user", options.isolation.containment.user);
  for (const std::string& path : server::driver_paths()) add("--session-path", path);
  for (const std::string& path : options.isolation.containment.paths) add("--session-path", path);
  for (const std::string& rule : options.peers) add("--peers", rule);
  if (has_store) command.arguments.emplace_back("--session-store");
  if (options.kernel_sockets) command.arguments.emplace_back("--kernel-sockets");
  if (!rdma.empty()) add("--session-rdma", rdma);
  const bool is_chosen = options.isolation.filter != "auto";
  add("--filter", is_chosen ? options.isolation.filter : std::string(name_of(server::choose_filter(!rdma.empty()))));
  return command;
}

// Whether others than the server's user can have sessions.
bool is_open(const Address& address, const Options& options, const server::LimitsTable& limits) {
  return !address.is_loopback() || !options.token_file.empty() || !options.tls.client_ca.empty() ||
         !limits.users.empty();
}

// Where contained sessions accept RDMA channels; empty: nowhere. They get the RDMA device for that, and their
// kernels could reach other machines through it, so the operator must have asked for RDMA.
std::string rdma_of_sessions(const Options& options, const BulkOffloadAcceptor* rdma) {
  const bool is_asked_for = rdma != nullptr && !options.rdma.empty();
  const bool is_encrypted = options.tls.is_on();
  return is_asked_for && !is_encrypted ? rdma->host() : "";
}

std::optional<server::ProcessCommand> isolation(const Options& options, bool is_open, bool has_store,
                                                const BulkOffloadAcceptor* rdma, const server::NativeDriver& driver,
                                                std::string& words) {
  const auto choice = server::choose_isolation(
      options.isolation.is_chosen() ? std::optional(options.isolation.is_on) : std::nullopt, is_open, driver);
  words = choice.words;
  server::log_info("{}", choice.words);
  if (!choice.isolates) return std::nullopt;
  if (options.plugins.is_used()) {
    throw std::invalid_argument(
        "plugins cannot be used where each session has a contained process, which may neither open files nor start "
        "others: " +
        choice.words +
        ". Say --no-isolate if you trust those who use this server, or serve plugins "
        "from a daemon of their own with --devices that names only theirs");
  }
  return session_process(options, has_store, rdma_of_sessions(options, rdma));
}

// Anybody who can reach the address could use the devices, so the operator must say that this is intended.
void require_protection(const Address& address, const Options& options, const server::LimitsTable& limits) {
  const bool keeps_out = !options.token_file.empty() || !options.tls.client_ca.empty() || !limits.users.empty();
  if (address.is_loopback() || keeps_out) return;
  if (!options.insecure) {
    throw ConnectionError(
        "refusing to listen on " + address.text() +
        ": other machines can reach it, and nothing keeps strangers out. Give clients a token and the "
        "server --token-file FILE (`remotecl keygen` makes one), or clients certificates and the server "
        "--tls-client-ca FILE; or listen on loopback; or say --insecure, if everybody who reaches this port may use "
        "the devices");
  }
  server::log_warning("--insecure: whoever reaches {} can use these devices", address.text());
}

// Warns if only one of the option and the limits is given, because neither does anything alone.
void check_kernel_sockets(const server::LimitsTable& limits, bool has_kernel_sockets) {
  const auto names_addresses = [](const server::Limits& each) { return each.kernel_connect || each.kernel_bind; };
  const bool is_some = names_addresses(limits.session) || names_addresses(limits.standard) ||
                       std::any_of(limits.users.begin(), limits.users.end(),
                                   [&](const server::NamedUser& user) { return names_addresses(user.limits); });
  if (has_kernel_sockets && !is_some) {
    server::log_warning("--kernel-sockets opens no address: no limit has kernel-connect or kernel-bind");
  } else if (!has_kernel_sockets && is_some) {
    server::log_warning("kernel-connect and kernel-bind of the limits do nothing without --kernel-sockets");
  }
}

void print_devices(const server::NativeDriver& driver) {
  for (const auto& device : driver.devices()) {
    std::printf("device %u: %s (%s)\n", device->index(), device->traits().name.c_str(),
                device->traits().platform_name.c_str());
  }
}

void write_new_file(const std::string& path, const std::string& text, mode_t mode) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0 || ::write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
  }
  ::close(descriptor);
}

std::vector<std::string> host_names() {
  char host[HOST_NAME_MAX + 1] = {};
  const bool is_named = ::gethostname(host, sizeof host - 1) == 0 && host[0] != 0;
  return {is_named ? host : "localhost", "localhost"};
}

int write_certificate(const std::vector<std::string>& files) {
  const NewCertificate made = make_certificate(host_names());
  write_new_file(files[1], made.key, 0600);
  write_new_file(files[0], made.certificate, 0644);
  std::printf("pin=%s\n", pin_text(made.pin).c_str());
  return 0;
}

// Returns a descriptor that delivers the signals. Later threads inherit the mask, so signals arrive nowhere
// else. SIGHUP, which a closing terminal sends, ends a server that has no file to reread.
int block_signals(bool takes_hangup) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (takes_hangup) sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a write to a file that ulimit -f does not allow fails; the processes that it starts, too
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

using Clock = std::chrono::steady_clock;

// Waits for a signal and returns its number. Returns 0 at the end of stdin, when `event` is readable, or at
// `end`.
int wait_for_end(int signals, bool watch_stdin, int event = -1, std::optional<Clock::time_point> end = {}) {
  char ignored[4096];
  for (;;) {
    int patience_ms = -1;
    if (end) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now()).count();
      if (left <= 0) return 0;
      patience_ms = static_cast<int>(std::min<std::int64_t>(left, 3'600'000));
    }
    // poll() ignores descriptors below 0.
    pollfd waits[3] = {{signals, POLLIN, 0}, {watch_stdin ? STDIN_FILENO : -1, POLLIN, 0}, {event, POLLIN, 0}};
    if (poll(waits, 3, patience_ms) < 0) continue;
    if (waits[0].revents != 0) {
      signalfd_siginfo signal{};
      if (read(signals, &signal, sizeof signal) == sizeof signal) return static_cast<int>(signal.ssi_signo);
    }
    if (waits[1].revents != 0 && read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return 0;
    if (waits[2].revents != 0) return 0;
  }
}

// If the file is wrong, the old limits stay.
void renew_limits(server::Server& server, const Options& options) {
  try {
    server::LimitsTable limits = server::read_limits(options.limits_file, options.limits);
    require_protection(server.address(), options, limits);
    server.renew(std::move(limits));
    server::log_warning("has read {} again; its limits hold for sessions that begin now", options.limits_file);
  } catch (const std::exception& error) {
    server::log_error("keeps its former limits: {}", error.what());
  }
}

// Lets sessions go on until all have left, the time is up, or something else ends the daemon.
void drain(server::Server& server, int signals, const Options& options) {
  const int is_empty = eventfd(0, EFD_CLOEXEC);
  server::log_info("takes no new sessions; {} may go on for {} s", server.sessions(), options.drain_s);
  // The descriptor is never closed, because a session may leave at any time.
  server.drain([is_empty] { eventfd_write(is_empty, 1); });
  const auto end = Clock::now() + std::chrono::seconds(options.drain_s);
  while (wait_for_end(signals, options.exit_on_stdin_eof, is_empty, end) == SIGHUP) {
  }
  if (const std::size_t left = server.sessions(); left != 0)
    server::log_warning("{} sessions have not left and end now", left);
}

// Parses "[HOST:]PORT".
Address parse_metrics_address(const std::string& text) {
  const bool is_port = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  Address address = parse_address(is_port ? "127.0.0.1:" + text : text, kDefaultPort);
  if (!is_port && text.find(':') == std::string::npos) {
    throw std::invalid_argument("--metrics " + text + " names no port; write PORT or HOST:PORT");
  }
  return address;
}

std::unique_ptr<server::MetricsPort> open_metrics(server::Server& server, const Options& options) {
  if (options.metrics.empty()) return nullptr;
  const Address wanted = parse_metrics_address(options.metrics);
  if (!wanted.is_loopback())
    server::log_warning("--metrics: whoever reaches {} can read how busy this server is", wanted.text());
  auto port = std::make_unique<server::MetricsPort>(wanted, [&server] { return server.metrics(); });
  server.add_own_port(port->address().port);
  std::printf("metrics on http://%s/metrics\n", port->address().text().c_str());
  return port;
}

// Reads them now, so that a wrong setting is reported before the first client comes.
void read_settings() {
  shared_memory::wanted();
  bulk_streams();
  WaitPolicy::poll_time();
  heartbeat_interval();
}

int run(const Options& options) {
  const int signals = block_signals(!options.limits_file.empty());
  settings::report_through([](const std::string& line) { server::log_warning("{}", line); });
  read_settings();
  const Address address = tcp::resolve_local(parse_address(options.listen, kDefaultPort));
  server::LimitsTable limits = server::read_limits(options.limits_file, options.limits);
  check_kernel_sockets(limits, options.kernel_sockets);
  require_protection(address, options, limits);
  std::optional<AccessToken> token;
  if (!options.token_file.empty()) token = read_token(options.token_file);
  std::optional<TlsServer> tls;
  if (!options.tls.client_ca.empty() && !options.tls.is_on()) {
    throw std::invalid_argument("--tls-client-ca needs --tls or --tls-new: certificates are shown by TLS");
  }
  if (!options.tls.files.empty()) {
    tls.emplace(TlsServerFiles{options.tls.files[0], options.tls.files[1], options.tls.client_ca});
  }
  if (options.tls.has_new_key) tls.emplace(TlsServerFiles{"", "", options.tls.client_ca, host_names()});
  const std::string pin = tls ? pin_text(tls->pin()) : "";
  std::unique_ptr<Store> store;
  if (options.store.wants_store(options.exit_on_stdin_eof)) {
    store = server::open_store(options.store, token, options.tls.client_ca);
  }
  const bool has_store = store != nullptr;
  const auto rdma = server::open_rdma(options.rdma, address);
  std::string isolation_words;
  const bool is_for_others = is_open(address, options, limits);
  auto server = std::make_unique<server::Server>(
      address, options.devices, std::move(token), std::move(tls), std::move(limits),
      [&](const server::NativeDriver& driver) {
        return isolation(options, is_for_others, has_store, rdma.get(), driver, isolation_words);
      },
      server::PeerRules(options.peers), store.get(), rdma.get(),
      [&options](const server::OwnPorts& ports) {
        return server::extras::argument_provider(options.kernel_sockets, ports);
      });
  print_devices(server->driver());
  std::printf("%s\n", isolation_words.c_str());
  if (!pin.empty()) std::printf("TLS with pin=%s\n", pin.c_str());
  for (const auto& device : server->driver().devices()) {
    const server::LogScope scope({}, device->index());
    server::log_info("serves {}", device->traits().name);
  }
  if (rdma != nullptr) server::log_way_to_memory(server->driver());
  const auto metrics = open_metrics(*server, options);
  std::printf("listening on %s\n", server->address().text().c_str());
  std::fflush(stdout);
  server::notify_service_manager();
  int signal = wait_for_end(signals, options.exit_on_stdin_eof);
  for (; signal == SIGHUP; signal = wait_for_end(signals, options.exit_on_stdin_eof)) renew_limits(*server, options);
  if (signal == SIGTERM && options.drain_s != 0) drain(*server, signals, options);
  if (!server->stop(std::chrono::milliseconds(700))) {
    // Native work that cannot be cancelled is still running; it ends with the process.
    server::flush_log();
    std::_Exit(0);
  }
  return 0;
}

server::LogFormat log_format(const Options& options) {
  if (options.session_process.is_one) return server::LogFormat::kForDaemon;
  return options.log_format == "json" ? server::LogFormat::kJson : server::LogFormat::kText;
}

void set_up_plugins(Options& options) {
#ifdef REMOTECL_HAS_STREAMS
  if (auto driver = server::set_up_plugins(options.plugins)) options.devices.drivers.push_back(std::move(*driver));
#else
  if (options.plugins.is_used()) throw std::invalid_argument("this build of remotecl-server is without plugins");
#endif
}

int act(Options& options) {
  if (options.kernel_sockets && !server::extras::have_kernel_sockets()) {
    throw std::invalid_argument(
        "--kernel-sockets: this remotecl-server was built without sockets inside kernels; start one that was built "
        "with REMOTECL_KERNEL_SOCKETS=ON");
  }
  if (!options.session_process.is_one) {
    if (options.isolation.filter != "auto") options.plugins.filter = options.isolation.filter;
    options.plugins.user = options.isolation.containment.user;
    set_up_plugins(options);
  }
  if (options.lists_devices) {
    print_devices(server::NativeDriver(options.devices));
    return 0;
  }
  if (options.session_process.is_one) {
    settings::report_through([](const std::string&) {});  // the daemon has reported them already
    server::Containment containment = options.isolation.containment;
    containment.has_rdma = !options.session_process.rdma.empty();
    containment.has_sockets = options.kernel_sockets;
    containment.filter = parse_call_filter(options.isolation.filter).value_or(CallFilter::kAllowList);
    if (containment.has_rdma) {
      ::setenv("REMOTECL_RDMA", "auto", 1);
    } else {
      forbid_rdma(rdma_reason::kIsolated);
    }
    return server::run_session_process(
        options.devices, containment, server::PeerRules(options.peers), options.session_process.has_store,
        options.session_process.rdma, [&containment](server::OpenForKernel open) {
          return server::extras::argument_provider(containment.has_sockets, std::move(open));
        });
  }
  if (options.isolation.prints_containment) return server::print_containment(options.isolation.containment.user);
  return options.tls.made.empty() ? run(options) : write_certificate(options.tls.made);
}

}  // namespace

int main(int argc, char** argv) {
#ifdef REMOTECL_HAS_RDMA
  use_bulk_offload(rdma_offload());
#endif
  try {
    Options options;
    if (const auto status = server::read_options(argc, argv, options)) return *status;
    server::start_log(log_format(options), server::log_level(options.log_level));
    return act(options);
  } catch (const std::exception& error) {
    server::log_end(error.what());
    return 1;
  }
}
