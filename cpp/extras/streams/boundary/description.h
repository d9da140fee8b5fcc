#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"

struct remotecl_plugin;

namespace remotecl::plugins {

enum class ArgumentKind : std::uint32_t { kValue, kInput, kOutput, kBoth };

struct ArgumentDescription {
  std::string name, type;
  ArgumentKind kind = ArgumentKind::kValue;
  std::uint32_t bytes = 0;  // of a value; the least of a buffer

  bool is_buffer() const { return kind != ArgumentKind::kValue; }
  bool operator==(const ArgumentDescription&) const = default;
};

struct KernelDescription {
  std::string name;
  std::vector<ArgumentDescription> arguments;

  bool operator==(const KernelDescription&) const = default;
};

struct DeviceDescription {
  std::string name;
  std::vector<KernelDescription> kernels;

  bool operator==(const DeviceDescription&) const = default;
};

// A plugin's description of itself, within the bounds of plugin.h. A value.
struct PluginDescription {
  static constexpr std::size_t kEncodedMax = 128u << 10;

  std::vector<DeviceDescription> devices;

  bool operator==(const PluginDescription&) const = default;
};

// Throws std::invalid_argument, which names what is wrong.
PluginDescription describe(const remotecl_plugin& plugin);
// Encodes the description for another process. Throws std::invalid_argument if it is too large.
std::vector<std::byte> encode(const PluginDescription& description);
// Decodes bytes of an untrusted process. Throws std::invalid_argument.
PluginDescription decode_description(Bytes bytes);

}  // namespace remotecl::plugins
