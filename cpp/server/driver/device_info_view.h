#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/protocol/messages.h"
#include "server/completion/cl.h"
#include "server/driver/device.h"

namespace remotecl::server {

// A device's answers as they are sent, followed by the operator's. Amounts of memory are capped at `memory_max`. The
// view refers to the answers, and the message to the view.
class DeviceInfoView {
 public:
  DeviceInfoView(const std::vector<InfoAnswer>& answers, std::uint64_t memory_max,
                 const std::vector<InfoAnswer>& said = {}) {
    for (const auto& answer : answers) {
      values_.push_back({answer.name, answer.value});
      const auto at = std::find(kSizes.begin(), kSizes.end(), answer.name);
      if (at == kSizes.end() || answer.value.size() != sizeof(cl_ulong)) continue;
      cl_ulong& size = sizes_[static_cast<std::size_t>(at - kSizes.begin())];
      std::memcpy(&size, answer.value.data(), sizeof size);
      size = std::min<cl_ulong>(size, memory_max);
      values_.back().value = std::as_bytes(std::span(&size, 1));
    }
    for (const auto& answer : said) values_.push_back({answer.name, answer.value});
  }
  DeviceInfoView(const DeviceInfoView&) = delete;
  DeviceInfoView& operator=(const DeviceInfoView&) = delete;

  std::span<const InfoValue> values() const { return values_; }

 private:
  static constexpr std::array<std::uint32_t, 2> kSizes = {CL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_MAX_MEM_ALLOC_SIZE};

  std::array<cl_ulong, kSizes.size()> sizes_{};
  std::vector<InfoValue> values_;
};

}  // namespace remotecl::server
