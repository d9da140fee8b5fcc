#include "extras/streams/boundary/description.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "remotecl/plugin.h"

namespace remotecl::plugins {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

bool is_name(std::string_view text) {
  const auto is_good = [](char each) { return each >= ' ' && each <= '~' && each != ';'; };
  return !text.empty() && text.size() <= REMOTECL_PLUGIN_NAME_MAX && std::all_of(text.begin(), text.end(), is_good);
}

void check(const ArgumentDescription& argument) {
  if (!is_name(argument.name) || !is_name(argument.type)) refuse("an argument has no proper name or type");
  if (argument.kind > ArgumentKind::kBoth) refuse("the argument " + argument.name + " is of no known kind");
  if (!argument.is_buffer() && (argument.bytes == 0 || argument.bytes > REMOTECL_PLUGIN_VALUE_MAX)) {
    refuse("the value " + argument.name + " has " + std::to_string(argument.bytes) + " bytes");
  }
}

// The check that describe() and decode_description() share: nothing exceeds the bounds of plugin.h.
void check(const PluginDescription& plugin) {
  if (plugin.devices.empty() || plugin.devices.size() > REMOTECL_PLUGIN_DEVICES_MAX)
    refuse("it has no or too many devices");
  for (const DeviceDescription& device : plugin.devices) {
    if (!is_name(device.name)) refuse("a device has no proper name");
    if (device.kernels.empty() || device.kernels.size() > REMOTECL_PLUGIN_KERNELS_MAX) {
      refuse("the device " + device.name + " has no or too many kernels");
    }
    for (const KernelDescription& kernel : device.kernels) {
      if (!is_name(kernel.name)) refuse("a kernel has no proper name");
      if (kernel.arguments.size() > REMOTECL_PLUGIN_ARGUMENTS_MAX) refuse(kernel.name + " has too many arguments");
      for (const ArgumentDescription& argument : kernel.arguments) check(argument);
    }
  }
}

std::string text_of(const char* text) {
  if (text == nullptr) return {};
  return {text, ::strnlen(text, REMOTECL_PLUGIN_NAME_MAX + 1)};
}

template <class T>
void require_size(const T& part) {
  if (part.size < sizeof(T)) refuse("one of its structs is smaller than those of version 1");
}

KernelDescription describe(const remotecl_plugin_kernel& kernel) {
  require_size(kernel);
  KernelDescription description{text_of(kernel.name), {}};
  if (kernel.count > REMOTECL_PLUGIN_ARGUMENTS_MAX) refuse(description.name + " has too many arguments");
  for (std::uint32_t i = 0; i < kernel.count; ++i) {
    const remotecl_plugin_argument& argument = kernel.arguments[i];
    require_size(argument);
    description.arguments.push_back(
        {text_of(argument.name), text_of(argument.type), static_cast<ArgumentKind>(argument.kind), argument.bytes});
  }
  return description;
}

class Reader {
 public:
  explicit Reader(Bytes bytes) : left_(bytes) {}

  std::uint32_t number() {
    std::uint32_t value = 0;
    if (left_.size() < sizeof value) refuse("its description ends early");
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return value;
  }
  std::uint32_t count(std::uint32_t most) {
    const std::uint32_t value = number();
    if (value > most) refuse("its description has too many parts");
    return value;
  }
  std::string text() {
    const std::size_t size = count(REMOTECL_PLUGIN_NAME_MAX);
    if (left_.size() < size) refuse("its description ends early");
    std::string text(as_text(left_.first(size)));
    left_ = left_.subspan(size);
    return text;
  }
  bool is_over() const { return left_.empty(); }

 private:
  Bytes left_;
};

class Writer {
 public:
  void number(std::size_t value) {
    const auto word = static_cast<std::uint32_t>(value);
    const auto* bytes = reinterpret_cast<const std::byte*>(&word);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof word);
  }
  void text(const std::string& text) {
    number(text.size());
    const Bytes bytes = as_bytes(text);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

PluginDescription describe(const remotecl_plugin& plugin) {
  if (plugin.version != REMOTECL_PLUGIN_VERSION) {
    refuse("it is for version " + std::to_string(plugin.version) + " of plugin.h, this server for " +
           std::to_string(REMOTECL_PLUGIN_VERSION));
  }
  require_size(plugin);
  if (plugin.count > REMOTECL_PLUGIN_DEVICES_MAX) refuse("it has too many devices");
  if (plugin.open == nullptr || plugin.execute == nullptr || plugin.close == nullptr) refuse("it lacks a function");
  PluginDescription description;
  for (std::uint32_t i = 0; i < plugin.count; ++i) {
    const remotecl_plugin_device& device = plugin.devices[i];
    require_size(device);
    if (device.count > REMOTECL_PLUGIN_KERNELS_MAX) refuse("a device has too many kernels");
    DeviceDescription& described = description.devices.emplace_back();
    described.name = text_of(device.name);
    for (std::uint32_t k = 0; k < device.count; ++k) described.kernels.push_back(describe(device.kernels[k]));
  }
  check(description);
  return description;
}

std::vector<std::byte> encode(const PluginDescription& description) {
  Writer to;
  to.number(description.devices.size());
  for (const DeviceDescription& device : description.devices) {
    to.text(device.name);
    to.number(device.kernels.size());
    for (const KernelDescription& kernel : device.kernels) {
      to.text(kernel.name);
      to.number(kernel.arguments.size());
      for (const ArgumentDescription& argument : kernel.arguments) {
        to.text(argument.name);
        to.text(argument.type);
        to.number(static_cast<std::uint32_t>(argument.kind));
        to.number(argument.bytes);
      }
    }
  }
  std::vector<std::byte> bytes = to.take();
  if (bytes.size() > PluginDescription::kEncodedMax) refuse("its description is too long");
  return bytes;
}

PluginDescription decode_description(Bytes bytes) {
  Reader from(bytes);
  PluginDescription description;
  description.devices.resize(from.count(REMOTECL_PLUGIN_DEVICES_MAX));
  for (DeviceDescription& device : description.devices) {
    device.name = from.text();
    device.kernels.resize(from.count(REMOTECL_PLUGIN_KERNELS_MAX));
    for (KernelDescription& kernel : device.kernels) {
      kernel.name = from.text();
      kernel.arguments.resize(from.count(REMOTECL_PLUGIN_ARGUMENTS_MAX));
      for (ArgumentDescription& argument : kernel.arguments) {
        argument.name = from.text();
        argument.type = from.text();
        argument.kind = static_cast<ArgumentKind>(from.number());
        argument.bytes = from.number();
      }
    }
  }
  if (!from.is_over()) refuse("something follows its description");
  check(description);
  return description;
}

}  // namespace remotecl::plugins
