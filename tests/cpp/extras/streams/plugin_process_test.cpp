// A plugin's process that does not become one.
#include "extras/streams/instance/plugin_process.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace remotecl::plugins {
namespace {

// Of this process, also those that have ended and were not reaped.
std::size_t count_children() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (std::string id; children >> id;) ++count;
  }
  return count;
}

PluginSettings settings_with(const std::string& rule) {
  return {
      .plugins = {PLUGIN}, .rules = {rule}, .host = HOST, .call_limit = std::chrono::seconds(20), .instances_max = 64};
}

TEST(PluginProcess, ThatDoesNotStartLeavesNoChild) {
  const std::size_t before = count_children();
  for (const char* const rule : {"fake:none", "fake:abort-at-once"}) {
    const PluginSettings settings = settings_with(rule);
    EXPECT_THROW(PluginProcess(settings, PLUGIN, PluginProcess::kNoDevice), std::runtime_error) << rule;
    EXPECT_LE(count_children(), before) << rule;
  }
}

}  // namespace
}  // namespace remotecl::plugins
