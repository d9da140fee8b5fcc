#include "server/daemon/options.h"

#include <CLI/CLI.hpp>

namespace remotecl::server {

namespace {

void add_device_options(CLI::App& app, Options& options) {
  app.add_option("--devices", options.devices.devices, "all, or a comma-separated list of indices and parts of names")
      ->capture_default_str();
  app.add_flag("--list-devices", options.lists_devices, "print the devices that it would serve, and end");
}

void add_tls_options(CLI::App& app, TlsOptions& options) {
  CLI::Option* const tls =
      app.add_option("--tls", options.files,
                     "speak TLS only: PEM files of the certificate and of its key; `remotecl keygen` "
                     "makes both");
  tls->expected(2)->type_name("CERTIFICATE KEY");
  app.add_flag("--tls-new", options.has_new_key,
               "speak TLS only, with a new key for this run; whoever starts it gets the pin that it prints")
      ->excludes(tls);
  app.add_option("--tls-client-ca", options.client_ca,
                 "let in only clients whose certificate is signed by one in this PEM file; they need no token then");
  app.add_option("--make-certificate", options.made,
                 "write a new key and a certificate that it has signed itself, print its pin, and end")
      ->expected(2)
      ->type_name("CERTIFICATE KEY");
}

void add_store_options(CLI::App& app, StoreOptions& options) {
  CLI::Option* const store =
      app.add_option("--store", options.folder,
                     "folder that keeps built programs over a restart; default: remotecl/store in $XDG_CACHE_HOME or "
                     "~/.cache; none: keeps none. Without it: default, and with --exit-on-stdin-eof none");
  app.add_flag("--no-store", options.is_off, "the same as --store none")->excludes(store);
  app.add_option("--store-size", options.size, "how much that folder may hold; what was not used for longest goes")
      ->capture_default_str();
  app.add_flag("--store-trust-users", options.trusts_users,
               "users trust each other: each finds what others have stored, and runs it");
}

void add_plugin_options(CLI::App& app, PluginOptions& options) {
  app.add_flag(
      "--streams", options.has_streams,
      "devices that read, decode, encode and write streams, as far as --plugin-allow names what they may open");
  app.add_option("--plugin-allow", options.rules,
                 "what plugins may open, like read:/data, write:/data/out, connect:10.0.0.0/8:5000, listen:PORT, "
                 "memory:NAME, camera:/dev/video0 or url:rtsp://camera/; as often as needed")
      ->allow_extra_args(false);
  app.add_option("--plugin", options.files, "library with devices of your own; as often as needed")
      ->allow_extra_args(false);
  app.add_option("--plugins", options.folders, "folder of such libraries; as often as needed")->allow_extra_args(false);
  app.add_option("--plugin-limit", options.limit_s, "seconds that one call of a plugin may take")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--plugin-instances", options.instances,
                 "how many programs may use plugins at once; each has a process")
      ->check(CLI::Range(1, 120))
      ->capture_default_str();
  app.add_flag("--plugins-in-process", options.is_in_process,
               "plugins run in the daemon: whatever ends one ends all sessions");
}

void add_isolation_options(CLI::App& app, IsolationOptions& options) {
  CLI::Option* const isolate = app.add_flag(
      "--isolate", options.is_on,
      "a process for each session, contained, so that neither a driver that crashes nor a kernel that means harm "
      "takes more than its session with it; the default where others than the server's user may use CPU devices");
  app.add_flag("--no-isolate", options.is_off, "one process for all sessions")->excludes(isolate);
  app.add_option("--session-user", options.containment.user,
                 "whose these processes are, where the server is root's; without: each is a user's of its own");
  app.add_option("--session-path", options.containment.paths,
                 "what they may read beside the system's own folders and the drivers; as often as needed")
      ->allow_extra_args(false);
  app.add_option("--filter", options.filter,
                 "which system calls these processes, and those of plugins, may make: allow, those that are listed; "
                 "deny, all but those that are known to lead out; audit, as deny, and the log says what allow would "
                 "refuse; auto, allow if all devices are this machine's processors, else deny, and allow for plugins")
      ->check(CLI::IsMember({"auto", "allow", "deny", "audit"}))
      ->capture_default_str();
  app.add_flag("--containment", options.prints_containment,
               "say what cannot be kept from these processes here, and end");
}

// The options of a process that --isolate starts; not meant for users.
void add_session_process_options(CLI::App& app, Options& options) {
  app.add_flag("--session-process", options.session_process.is_one)->group("");
  app.add_option("--session-folder", options.isolation.containment.folder)->group("");
  app.add_flag("--session-store", options.session_process.has_store)->group("");
  app.add_option("--session-rdma", options.session_process.rdma)->group("");
}

void add_log_options(CLI::App& app, Options& options) {
  app.add_option("--log-level", options.log_level, "trace, debug, info, warning, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
  app.add_option("--log-format", options.log_format, "text, or json: one object per line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--listen", options.listen, "HOST[:PORT] to listen on; port 0: any free one")->capture_default_str();
  add_device_options(app, options);
  app.add_option("--token-file", options.token_file,
                 "let in only clients that know the token in this file; -: the first line of the standard input");
  add_tls_options(app, options.tls);
  app.add_option("--limits", options.limits_file,
                 "TOML file: what sessions and users may have, and users' tokens; read again on SIGHUP");
  app.add_option("--limit", options.limits,
                 "SECTION.KEY=VALUE, as in that file, like session.device-memory=8GiB; as often as needed")
      ->allow_extra_args(false);
  app.add_option(
         "--peers", options.peers,
         "where clients' other servers may be, with which this one is linked: NETWORK[:PORT[-PORT]], any or none; "
         "as often as needed. Without it: any, on ports from 1024 on")
      ->allow_extra_args(false);
  add_store_options(app, options.store);
  app.add_option(
      "--rdma", options.rdma,
      "data by RDMA: auto, off, require, or an address to listen on; without it REMOTECL_RDMA, or auto. With "
      "--isolate only if it is given, because it lets kernels reach what RDMA reaches");
  add_plugin_options(app, options.plugins);
  app.add_flag("--kernel-sockets", options.kernel_sockets,
               "kernels may have sockets, where kernel-connect and kernel-bind of the limits allow it");
  app.add_flag("--insecure", options.insecure, "listen beyond loopback although everybody can use the devices");
  add_isolation_options(app, options.isolation);
  add_session_process_options(app, options);
  app.add_flag("--exit-on-stdin-eof", options.exit_on_stdin_eof, "end when the standard input ends");
  add_log_options(app, options);
  app.add_option("--metrics", options.metrics,
                 "[HOST:]PORT where Prometheus reads counters; on loopback unless a host is named");
  app.add_option("--drain", options.drain_s,
                 "on SIGTERM take no new sessions, and end when the others have left, after so many seconds, or on a "
                 "second signal")
      ->capture_default_str();
  app.set_version_flag("--version", REMOTECL_VERSION);
  app.footer("As installed with the Python package it also takes --advertise NAME: announce it on the local network.");
}

}  // namespace

std::optional<int> read_options(int argc, char** argv, Options& options) {
  CLI::App app{"Serves this machine's OpenCL devices to remotecl clients."};
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    return app.exit(end);
  }
  return std::nullopt;
}

}  // namespace remotecl::server
