#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>

#include "extras/streams/boundary/include/remotecl/plugin.h"
#include "extras/streams/support/frame_info.h"
#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {

// The functions of a plugin whose programs have an Instance each. kRun(Instance&, const remotecl_plugin_call&) carries
// out a call, and may throw.
template <class Instance, auto kRun>
struct PluginFunctions {
  static std::int32_t open(std::uint32_t, void** instance, char*) {
    *instance = new Instance;
    return 0;
  }
  static std::int32_t execute(void* instance, const remotecl_plugin_call* call) {
    const auto fails = [call](std::int32_t code, const std::exception& error) {
      std::strncpy(call->why, error.what(), REMOTECL_PLUGIN_WHY_MAX);
      return code;
    };
    try {
      kRun(*static_cast<Instance*>(instance), *call);
      return 0;
    } catch (const PluginError& error) {
      return fails(error.code(), error);
    } catch (const std::exception& error) {
      return fails(kBroken, error);
    }
  }
  static void close(void* instance) { delete static_cast<Instance*>(instance); }
};

// The parts of a plugin's description. They keep pointers to the arrays.
constexpr remotecl_plugin_argument argument(const char* name, const char* type, std::uint32_t kind,
                                            std::uint32_t bytes = 1) {
  return {sizeof(remotecl_plugin_argument), name, type, kind, bytes};
}
template <std::size_t N>
constexpr remotecl_plugin_kernel kernel(const char* name, const remotecl_plugin_argument (&arguments)[N]) {
  return {sizeof(remotecl_plugin_kernel), name, N, arguments};
}
template <std::size_t N>
constexpr remotecl_plugin_device device(const char* name, const remotecl_plugin_kernel (&kernels)[N]) {
  return {sizeof(remotecl_plugin_device), name, N, kernels};
}
template <class Functions>
constexpr remotecl_plugin plugin_of(const remotecl_plugin_device& device) {
  return {sizeof(remotecl_plugin), REMOTECL_PLUGIN_VERSION, 1, &device, Functions::open,
          Functions::execute,      Functions::close};
}

inline constexpr remotecl_plugin_argument kContentSize =
    argument("content_size", "ulong*", REMOTECL_PLUGIN_OUTPUT, sizeof(std::uint64_t));
inline constexpr remotecl_plugin_argument kInfo = argument("info", "ulong*", REMOTECL_PLUGIN_OUTPUT, sizeof(FrameInfo));
// The arguments of remotecl.read.
inline constexpr remotecl_plugin_argument kReadArguments[] = {argument("source", "char*", REMOTECL_PLUGIN_INPUT),
                                                              argument("frame", "uchar*", REMOTECL_PLUGIN_OUTPUT),
                                                              kContentSize, kInfo};

}  // namespace remotecl::plugins
