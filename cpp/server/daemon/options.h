#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/daemon/isolation_options.h"
#include "server/daemon/plugin_options.h"
#include "server/daemon/store_options.h"
#include "server/daemon/tls_options.h"
#include "server/driver/device_selection.h"

namespace remotecl::server {

// The options of the command line.
struct Options {
  std::string listen = "127.0.0.1:10990";
  DeviceSelection devices = "all";
  std::string log_level = "warning";
  std::string log_format = "text";
  std::string metrics;
  unsigned drain_s = 0;
  std::string token_file;
  TlsOptions tls;
  std::string limits_file;
  std::vector<std::string> limits;
  std::vector<std::string> peers;
  StoreOptions store;
  PluginOptions plugins;
  std::string rdma;
  bool kernel_sockets = false;
  bool insecure = false;
  bool exit_on_stdin_eof = false;
  IsolationOptions isolation;
  SessionProcessOptions session_process;
  bool lists_devices = false;
};

// Reads the command line. Returns the exit status if the program must end, after printing help or what is wrong.
std::optional<int> read_options(int argc, char** argv, Options& options);

}  // namespace remotecl::server
