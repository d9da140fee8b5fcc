#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/transport/address.h"
#include "runtime/transport/certificate.h"
#include "server/log.h"
#include "server/server.h"

namespace {

using namespace remotecl;

struct Options {
  std::string listen = "127.0.0.1:10990";
  std::string devices = "all";
  std::string log_level = "warning";
  std::string token_file;
  std::vector<std::string> tls;  // files of the certificate and of its key
  std::string client_ca;
  std::vector<std::string> new_certificate;
  bool insecure = false;
  bool exit_on_stdin_eof = false;
};

// Whoever reaches the address could use the devices: that must have been meant.
void require_protection(const Address& address, const Options& options) {
  if (address.is_loopback() || !options.token_file.empty() || !options.client_ca.empty()) return;
  if (!options.insecure) {
    throw ConnectionError(
        "refusing to listen on " + address.text() +
        ": other machines can reach it, and nothing keeps strangers out. Give clients a token and the "
        "server --token-file FILE (`remotecl keygen` makes one), or clients certificates and the server "
        "--tls-client-ca FILE; or listen on loopback; or say --insecure, if everybody who reaches this port may use "
        "the devices");
  }
  spdlog::warn("--insecure: whoever reaches {} can use these devices", address.text());
}

void write_new_file(const std::string& path, const std::string& text, mode_t mode) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0 || ::write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
  }
  ::close(descriptor);
}

int write_certificate(const std::vector<std::string>& files) {
  char host[HOST_NAME_MAX + 1] = {};
  const bool is_named = ::gethostname(host, sizeof host - 1) == 0 && host[0] != 0;
  const NewCertificate made = make_certificate({is_named ? host : "localhost", "localhost"});
  write_new_file(files[1], made.key, 0600);
  write_new_file(files[0], made.certificate, 0644);
  std::printf("pin=%s\n", pin_text(made.pin).c_str());
  return 0;
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
  std::optional<TlsServer> tls;
  if (!options.tls.empty()) tls.emplace(TlsServerFiles{options.tls[0], options.tls[1], options.client_ca});
  const std::string pin = tls ? pin_text(tls->pin()) : "";
  auto server = std::make_unique<server::Server>(address, options.devices, std::move(token), std::move(tls));
  for (const auto& device : server->driver().devices()) {
    std::printf("device %u: %s (%s)\n", device->index(), device->name().c_str(), device->platform_name().c_str());
  }
  if (!pin.empty()) std::printf("TLS with pin=%s\n", pin.c_str());
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
  CLI::Option* const tls =
      app.add_option("--tls", options.tls,
                     "speak TLS only: PEM files of the certificate and of its key; `remotecl keygen` "
                     "makes both");
  tls->expected(2)->type_name("CERTIFICATE KEY");
  app.add_option("--tls-client-ca", options.client_ca,
                 "let in only clients whose certificate is signed by one in this PEM file; they need no token then")
      ->needs(tls);
  app.add_option("--make-certificate", options.new_certificate,
                 "write a new key and a certificate that it has signed itself, print its pin, and end")
      ->expected(2)
      ->type_name("CERTIFICATE KEY");
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
    return options.new_certificate.empty() ? run(options) : write_certificate(options.new_certificate);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remotecl-server: %s\n", error.what());
    return 1;
  }
}
