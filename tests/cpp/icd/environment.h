#pragma once

#include <CL/cl.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fakes/wire/fault_relay.h"
#include "support/daemon.h"

namespace remotecl::testing {

// Daemons, and a loader that finds remotecl beside the machine's own drivers. Made once per process, before
// the first OpenCL call; used by the main thread, or by others while nothing changes.
class Environment : public ::testing::Environment {
 public:
  explicit Environment(int daemons, std::vector<std::string> daemon_environment = {}, bool speaks_tls = false)
      : count_(daemons), daemon_environment_(std::move(daemon_environment)), speaks_tls_(speaks_tls) {}
  // Daemons of which each has an environment of its own.
  static Environment* with_environments(std::vector<std::vector<std::string>> environments,
                                        std::vector<std::string> options = {}) {
    auto* const environment = new Environment(static_cast<int>(environments.size()));
    environment->environments_ = std::move(environments);
    environment->daemon_options_ = std::move(options);
    return environment;
  }
  // Daemons with these options, which can only be reached over a bad network if there are faults.
  static Environment* with_options(int daemons, std::vector<std::string> options,
                                   const FaultRelay::Faults* faults = nullptr,
                                   std::vector<std::string> daemon_environment = {}) {
    auto* const environment = faults == nullptr ? new Environment(daemons, std::move(daemon_environment))
                                                : new Environment(daemons, *faults, std::move(daemon_environment));
    environment->daemon_options_ = std::move(options);
    return environment;
  }
  // Daemons that can only be reached over a bad network, and through TLS where that corrupts bytes.
  Environment(int daemons, const FaultRelay::Faults& faults, std::vector<std::string> daemon_environment)
      : count_(daemons),
        daemon_environment_(std::move(daemon_environment)),
        speaks_tls_(faults.corrupts),
        faults_(faults) {}

  void SetUp() override;
  void TearDown() override;

  static Environment& get();

  Daemon& daemon(std::size_t index) { return *daemons_.at(index); }
  FaultRelay& relay(std::size_t index) { return *relays_.at(index); }
  // Null where the machine has no driver of its own besides ours.
  cl_platform_id native_platform() const { return native_; }
  cl_platform_id remote_platform() const { return remote_; }
  cl_device_id native_device() const { return native_device_; }
  bool is_pocl() const { return is_pocl_; }
  const std::vector<cl_device_id>& all_devices() const { return all_devices_; }
  // The first device of each daemon.
  const std::vector<cl_device_id>& devices() const { return devices_; }
  const std::string& folder() const { return folder_; }  // for this process's files; removed at the end

 private:
  void register_drivers();
  void find_platforms();

  const int count_;
  const std::vector<std::string> daemon_environment_;
  std::vector<std::vector<std::string>> environments_;  // one for each daemon, or none
  std::vector<std::string> daemon_options_;
  const bool speaks_tls_;
  const std::optional<FaultRelay::Faults> faults_;
  std::string folder_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
  std::vector<std::unique_ptr<FaultRelay>> relays_;
  cl_platform_id native_ = nullptr;
  cl_platform_id remote_ = nullptr;
  cl_device_id native_device_ = nullptr;
  bool is_pocl_ = false;
  std::vector<cl_device_id> all_devices_, devices_;
};

}  // namespace remotecl::testing
