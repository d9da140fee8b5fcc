#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "extras/streams/boundary/include/remotecl/plugin.h"
#include "extras/streams/support/frame_info.h"
#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {

// The checked arguments of a call. A view.
class CallArguments {
 public:
  explicit CallArguments(const remotecl_plugin_call& call) : call_(call) {}

  std::span<std::byte> bytes(std::uint32_t index) const {
    const remotecl_plugin_data& data = call_.arguments[index];
    return {static_cast<std::byte*>(data.data), data.bytes};
  }
  std::string_view text(std::uint32_t index) const {
    const auto all = bytes(index);
    const std::string_view text(reinterpret_cast<const char*>(all.data()), all.size());
    return text.substr(0, text.find('\0'));
  }
  // As much of a buffer as its content-size buffer says; all of it without one.
  std::span<std::byte> content(std::uint32_t index, std::uint32_t size_index) const {
    const auto all = bytes(index), size_bytes = bytes(size_index);
    if (size_bytes.empty()) return all;
    std::uint64_t size = 0;
    std::memcpy(&size, size_bytes.data(), sizeof size);
    if (size > all.size()) throw PluginError(kTooSmall, "the content size is larger than the buffer");
    return all.first(size);
  }
  // Both may be missing.
  void report(std::uint32_t size_index, std::uint32_t info_index, const FrameInfo& info) const {
    if (!bytes(size_index).empty()) std::memcpy(bytes(size_index).data(), &info.size, sizeof info.size);
    if (!bytes(info_index).empty()) std::memcpy(bytes(info_index).data(), &info, sizeof info);
  }

 private:
  const remotecl_plugin_call& call_;
};

}  // namespace remotecl::plugins
