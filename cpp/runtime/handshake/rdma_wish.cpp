#include "runtime/handshake/rdma_wish.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "runtime/base/settings.h"
#include "runtime/handshake/bulk_offload.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/connection.h"

namespace remotecl {
namespace {

// Set before other threads run.
std::string& forbidden_reason() {
  static std::string& reason = *new std::string;
  return reason;
}

std::optional<RdmaUse> asked_use() {
  const auto word = settings::one_of("REMOTECL_RDMA", {"auto", "off", "require"});
  return word ? std::optional(static_cast<RdmaUse>(*word)) : std::nullopt;
}

bool has_device() { return bulk_offload() != nullptr && bulk_offload()->has_device(); }
// Of a process without a device.
std::string_view lack() { return bulk_offload() == nullptr ? rdma_reason::kNotBuilt : rdma_reason::kNoDevice; }

}  // namespace

RdmaUse rdma_use() { return asked_use().value_or(RdmaUse::kAuto); }

void forbid_rdma(std::string_view reason) {
  forbidden_reason() = reason;
  if (rdma_use() == RdmaUse::kRequire) ::setenv("REMOTECL_RDMA", "auto", 1);  // or shared memory would be off too
}

RdmaState rdma_wish(bool is_encrypted, bool is_limited) {
  if (rdma_use() == RdmaUse::kOff) return {};
  // Most machines have no RDMA device. Only users who asked for RDMA want to read that; others find it as the reason.
  if (!has_device()) return asked_use() ? RdmaState::unavailable(lack()) : RdmaState::off(lack());
  if (!forbidden_reason().empty()) return RdmaState::unavailable(forbidden_reason());
  if (is_encrypted) return RdmaState::unavailable(rdma_reason::kEncrypted);
  if (is_limited) return RdmaState::unavailable(rdma_reason::kRateLimit);
  return {RdmaState::Kind::kConnecting, {}, {}, {}, {}};
}

std::uint64_t rdma_features(const RdmaState& wish) { return wish.is_wanted() ? kFeatureRdma : 0; }

void require_rdma(const Address& address, std::uint64_t features) {
  if (rdma_use() != RdmaUse::kRequire || (features & kFeatureRdma) != 0) return;
  std::string cause(lack());
  if (has_device()) {
    cause = "there is none with " + address.text() + ": " + std::string(rdma_reason::kNotOffered) + "; or " +
            std::string(rdma_reason::kEncrypted);
  }
  throw ConnectionError("REMOTECL_RDMA=require, and " + cause);
}

}  // namespace remotecl
