#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "extras/streams/boundary/description.h"
#include "extras/streams/boundary/message_socket.h"
#include "extras/streams/instance/instance.h"
#include "extras/streams/instance/plugin_settings.h"
#include "extras/streams/instance/ruled_files.h"

namespace remotecl::plugins {

// One process that runs a plugin: remotecl-plugin-host. Nothing that it answers is trusted. When this object is
// destroyed the process has kTimeToClose to close its files, and is then ended.
class PluginProcess {
 public:
  // A process that only describes its plugin.
  static constexpr int kNoDevice = -1;
  static constexpr std::chrono::milliseconds kTimeToClose{1000};

  // Throws std::runtime_error with the cause.
  PluginProcess(const PluginSettings& settings, const std::string& plugin, int device);
  ~PluginProcess();
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;

  const PluginDescription& description() const { return description_; }
  // What could not be kept from it, as text for people; usually empty.
  const std::string& lacks() const { return lacks_; }
  // Returns an outcome with `is_lost` set if the process is of no more use.
  Outcome execute(const Call& call, bool& is_lost);

 private:
  using Clock = MessageSocket::Clock;

  void start(const PluginSettings& settings, const std::string& plugin, int device);
  void read_description(Clock::time_point end);
  void pack_arguments(const Call& call, CallMessage& message, std::vector<int>& descriptors);
  void forget_gone(CallMessage& message);
  // Whether it ends by itself within this time.
  bool ends_within(std::chrono::milliseconds time) const;
  // Kills it. Returns how it ended, as the predicate of a sentence.
  std::string end();
  std::string why_silent(Clock::time_point end_of_time);

  const std::chrono::milliseconds limit_;
  MessageSocket socket_;
  std::shared_ptr<SharedBlock> call_memory_;
  pid_t id_ = -1;
  std::uint64_t serial_ = 0;
  std::map<std::uint64_t, std::weak_ptr<SharedBlock>> known_;  // that the process maps
  PluginDescription description_;
  std::string lacks_;
};

// Starts the process when it is first needed, and again after it was lost, but not more than ten times a second.
class ProcessInstance final : public Instance {
 public:
  ProcessInstance(const PluginSettings& settings, std::string plugin, int device)
      : settings_(settings), plugin_(std::move(plugin)), device_(device) {}
  Outcome execute(const Call& call) override;

 private:
  Outcome try_to_execute(const Call& call);

  const PluginSettings& settings_;
  const std::string plugin_;
  const int device_;
  std::unique_ptr<PluginProcess> process_;
  RuledFiles files_;  // when the process was started
  std::chrono::steady_clock::time_point next_start_{};
};

}  // namespace remotecl::plugins
