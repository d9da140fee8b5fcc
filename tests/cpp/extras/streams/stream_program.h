#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "extras/streams/boundary/include/remotecl/plugin.h"
#include "extras/streams/support/frame_info.h"

namespace remotecl::plugins {

// One program on the device "remotecl streams" of its plugin, without a process or a driver. One thread.
class StreamProgram {
 public:
  explicit StreamProgram(const std::vector<std::string>& rules) {
    std::vector<const char*> texts;
    for (const std::string& rule : rules) texts.push_back(rule.c_str());
    const remotecl_plugin_host host{sizeof host, REMOTECL_PLUGIN_VERSION, static_cast<std::uint32_t>(texts.size()),
                                    texts.data()};
    plugin_ = remotecl_plugin_get(&host);
    plugin_->open(0, &instance_, why_);
  }
  ~StreamProgram() { plugin_->close(instance_); }
  StreamProgram(const StreamProgram&) = delete;
  StreamProgram& operator=(const StreamProgram&) = delete;

  // Each returns 0 or the code that it failed with.
  std::int32_t write(std::string sink, std::string frame) {
    const std::array<remotecl_plugin_data, 3> arguments{data_of(sink), data_of(frame), {}};
    return execute(1, arguments);
  }
  std::int32_t read(std::string source, std::string& frame, FrameInfo& info) {
    std::string room(1024, '\0');
    const std::array<remotecl_plugin_data, 4> arguments{
        data_of(source), data_of(room), {}, {static_cast<void*>(&info), sizeof info}};
    const std::int32_t code = execute(0, arguments);
    frame = room.substr(0, info.size);
    return code;
  }
  std::int32_t size(std::string source, std::uint64_t& size) {
    const std::array<remotecl_plugin_data, 2> arguments{data_of(source), {static_cast<void*>(&size), sizeof size}};
    return execute(2, arguments);
  }
  std::string why() const { return why_; }

 private:
  static remotecl_plugin_data data_of(std::string& text) { return {text.data(), text.size()}; }
  std::int32_t execute(std::uint32_t kernel, std::span<const remotecl_plugin_data> arguments) {
    const remotecl_plugin_call call{sizeof call, kernel, static_cast<std::uint32_t>(arguments.size()), arguments.data(),
                                    why_};
    return plugin_->execute(instance_, &call);
  }

  const remotecl_plugin* plugin_ = nullptr;
  void* instance_ = nullptr;
  char why_[REMOTECL_PLUGIN_WHY_MAX + 1] = {};
};

}  // namespace remotecl::plugins
