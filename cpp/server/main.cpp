#include <poll.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "runtime/transport/address.h"
#include "server/log.h"
#include "server/server.h"

namespace {

using namespace remotecl;

struct Options {
  std::string listen = "127.0.0.1:10990";
  std::string devices = "all";
  std::string log_level = "warning";
  std::string token_file;
  bool insecure = false;
  bool exit_on_stdin_eof = false;
};

// Whoever reaches the address could use the devices: that must have been meant.
void require_protection(const Address& address, const Options& options) {
  if (address.is_loopback() || !options.token_file.empty()) return;
  if (!options.insecure) {
    throw ConnectionError(
        "refusing to listen on " + address.text() +
        ": other machines can reach it, and nothing keeps strangers out. Give clients a token and the "
        "server --token-file FILE (`remotecl keygen` makes one); or listen on loopback; or say "
        "--insecure, if everybody who reaches this port may use the devices");
  }
  spdlog::warn("--insecure: whoever reaches {} can use these devices", address.text());
}

// Signals arrive through this descriptor and nowhere else; every later thread inherits the mask.
int block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

void wait_for_end(int signals, bool watch_stdin) {
  char ignored[4096];
  for (;;) {
    pollfd waits[2] = {{signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    if (poll(waits, watch_stdin ? 2 : 1, -1) < 0) continue;
    if (waits[0].revents != 0) return;
    if (watch_stdin && waits[1].revents != 0 && read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return;
  }
}

int run(const Options& options) {
  const int signals = block_signals();
  const Address address = tcp::resolve_local(parse_address(options.listen, kDefaultPort));
  require_protection(address, options);
  std::optional<AccessToken> token;
  if (!options.token_file.empty()) token = read_token(options.token_file);
  auto server = std::make_unique<server::Server>(address, options.devices, std::move(token));
  for (const auto& device : server->driver().devices()) {
    std::printf("device %u: %s (%s)\n", device->index(), device->name().c_str(), device->platform_name().c_str());
  }
  std::printf("listening on %s\n", server->address().text().c_str());
  std::fflush(stdout);
  wait_for_end(signals, options.exit_on_stdin_eof);
  if (!server->stop(std::chrono::milliseconds(700))) {
    // Native work that cannot be cancelled is still running; it ends with the process.
    spdlog::default_logger()->flush();
    std::_Exit(0);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Serves this machine's OpenCL devices to remotecl clients."};
  app.add_option("--listen", options.listen, "HOST[:PORT] to listen on; port 0: any free one")->capture_default_str();
  app.add_option("--devices", options.devices, "all, or a comma-separated list of indices and parts of names")
      ->capture_default_str();
  app.add_option("--token-file", options.token_file,
                 "let in only clients that know the token in this file; -: the first line of the standard input");
  app.add_flag("--insecure", options.insecure, "listen beyond loopback although everybody can use the devices");
  app.add_flag("--exit-on-stdin-eof", options.exit_on_stdin_eof, "end when the standard input ends");
  app.add_option("--log-level", options.log_level, "trace, debug, info, warning, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
  app.set_version_flag("--version", REMOTECL_VERSION);
  app.footer("As installed with the Python package it also takes --advertise NAME: announce it on the local network.");
  CLI11_PARSE(app, argc, argv);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_pattern("remotecl-server: %l: %v");
  spdlog::set_level(spdlog::level::from_str(options.log_level));
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remotecl-server: %s\n", error.what());
    return 1;
  }
}
