#pragma once

#include <string>
#include <vector>

#include "support/child_process.h"

namespace remotecl::testing {

// A remotecl-server of its own process, on a free loopback port where nothing else is said, as it was built beside the
// tests. It sees the native drivers that this process was started with, whatever OCL_ICD_VENDORS has become since, and
// it ends with this object or with this process. With REMOTECL_TEST_ISOLATE in the environment it isolates sessions.
// With REMOTECL_TEST_RDMA_AT it offers RDMA at that address.
// One thread.
class Daemon {
 public:
  // Starts it without waiting. `environment`: "NAME=value" entries in addition to this process's.
  explicit Daemon(const std::vector<std::string>& environment = {}, const std::vector<std::string>& options = {},
                  const std::string& listen = "127.0.0.1:0");
  // Says on stderr how it ended, if nobody stopped it and it was killed or failed.
  ~Daemon();

  // Writes FOLDER/certificate.pem and FOLDER/key.pem, and gives the pin of the key as a server's name has it.
  static std::string make_certificate(const std::string& folder);

  // "host:port"; waits until it listens. Throws std::runtime_error when it ends before.
  const std::string& address();
  pid_t process() const { return process_.id(); }
  bool running() { return process_.running(); }
  void signal(int signal);
  void kill();  // SIGKILL, waits for the end
  void stop();  // SIGTERM, waits for the end

 private:
  ChildProcess process_;
  bool told_to_end_ = false;
  std::string address_;
};

}  // namespace remotecl::testing
