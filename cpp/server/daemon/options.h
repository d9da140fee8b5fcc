#pragma once

#include <string>
#include <vector>

#include "server/daemon/plugin_options.h"
#include "server/daemon/store_options.h"
#include "server/driver/device_selection.h"
#include "server/isolation/containment.h"

namespace CLI {
class App;
}

namespace remotecl::server {

// What the command line says.
struct Options {
  std::string listen = "127.0.0.1:10990";
  DeviceSelection devices = "all";
  std::string log_level = "warning";
  std::string log_format = "text";
  std::string metrics;
  unsigned drain_s = 0;
  std::string token_file;
  std::vector<std::string> tls;  // files of the certificate and its key
  bool has_new_tls = false;
  std::string client_ca;
  std::vector<std::string> new_certificate;
  std::string limits_file;
  std::vector<std::string> limits;
  std::vector<std::string> peers;
  StoreOptions store;
  PluginOptions plugins;
  std::string rdma;
  bool kernel_sockets = false;
  bool insecure = false;
  bool exit_on_stdin_eof = false;
  bool isolate = false;
  bool no_isolate = false;
  bool is_session_process = false;
  bool has_store = false;    // the daemon, which the process asks
  std::string session_rdma;  // where the process accepts RDMA channels; empty: it accepts none
  bool lists_devices = false;
  bool prints_containment = false;
  Containment containment;  // for --session-process
};

void add_options(CLI::App& app, Options& options);

}  // namespace remotecl::server
