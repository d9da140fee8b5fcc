#include "runtime/handshake/rdma_request.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

#include "runtime/base/settings.h"
#include "runtime/crypto/secret.h"
#include "runtime/handshake/proof.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/rdma/rdma_ports.h"

namespace remotecl {
namespace {

constexpr std::size_t kNumberSize = 16;  // of an IPv6 address

// Set before other threads run.
std::string& forbidden_reason() {
  static std::string& reason = *new std::string;
  return reason;
}

Secret prove_knowledge(const Secret& key, Claim claim, const RdmaRequestWords& words) {
  return prove_briefly(std::as_bytes(std::span(key)), claim,
                       {Role::kBulk, kFeatureRdma, words.number, words.ticket, 0, {}, {}});
}

// Returns false if the host is no number.
bool encode(const Address& address, std::uint8_t* to) {
  in_addr v4{};
  const std::uint16_t port = htons(address.port);
  std::memcpy(to + kNumberSize, &port, sizeof(port));
  if (::inet_pton(AF_INET6, address.host.c_str(), to) == 1) return true;
  if (::inet_pton(AF_INET, address.host.c_str(), &v4) != 1) return false;
  std::memset(to, 0, kNumberSize);
  to[10] = to[11] = 0xff;
  std::memcpy(to + 12, &v4, sizeof(v4));
  return true;
}

Address decode(const std::uint8_t* from) {
  in6_addr number;
  std::memcpy(&number, from, sizeof(number));
  std::uint16_t port = 0;
  std::memcpy(&port, from + kNumberSize, sizeof(port));
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IN6_IS_ADDR_V4MAPPED(&number)) {
    ::inet_ntop(AF_INET, from + 12, text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, &number, text.data(), text.size());
  }
  return {text.data(), ntohs(port)};
}

std::optional<RdmaUse> asked_use() {
  const auto word = settings::one_of("REMOTECL_RDMA", {"auto", "off", "require"});
  return word ? std::optional(static_cast<RdmaUse>(*word)) : std::nullopt;
}

}  // namespace

RdmaUse rdma_use() { return asked_use().value_or(RdmaUse::kAuto); }

void forbid_rdma(std::string_view reason) {
  forbidden_reason() = reason;
  if (rdma_use() == RdmaUse::kRequire) ::setenv("REMOTECL_RDMA", "auto", 1);  // or shared memory would be off too
}

RdmaState rdma_wish(bool is_encrypted, bool is_limited) {
  if (rdma_use() == RdmaUse::kOff) return {};
  // Most machines have no RDMA device. Only users who asked for RDMA want to read that; others find it as the reason.
  if (!has_rdma_device()) {
    return asked_use() ? RdmaState::unavailable(rdma_reason::kNoDevice) : RdmaState::off(rdma_reason::kNoDevice);
  }
  if (!forbidden_reason().empty()) return RdmaState::unavailable(forbidden_reason());
  if (is_encrypted) return RdmaState::unavailable(rdma_reason::kEncrypted);
  if (is_limited) return RdmaState::unavailable(rdma_reason::kRateLimit);
  return {RdmaState::Kind::kConnecting, {}, {}, {}, {}};
}

std::uint64_t rdma_features(const RdmaState& wish) { return wish.is_wanted() ? kFeatureRdma : 0; }

void require_rdma(const Address& address, std::uint64_t features) {
  if (rdma_use() != RdmaUse::kRequire || (features & kFeatureRdma) != 0) return;
  std::string cause(rdma_reason::kNoDevice);
  if (has_rdma_device()) {
    cause = "there is none with " + address.text() + ": " + std::string(rdma_reason::kNotOffered) + "; or " +
            std::string(rdma_reason::kEncrypted);
  }
  throw ConnectionError("REMOTECL_RDMA=require, and " + cause);
}

RdmaRequestWords rdma_request(const Secret& key, std::uint64_t ticket, std::uint32_t number) {
  RdmaRequestWords words{ticket, number, {}};
  words.proof = prove_knowledge(key, Claim::kConnecting, words);
  return words;
}

RdmaReplyWords rdma_reply(const Secret& key, const RdmaRequestWords& to) {
  return {prove_knowledge(key, Claim::kAccepting, to)};
}

bool is_proved(const Secret& key, const RdmaRequestWords& words) {
  return same_secret(words.proof, prove_knowledge(key, Claim::kConnecting, words));
}

bool is_proved(const Secret& key, const RdmaRequestWords& to, const RdmaReplyWords& words) {
  return same_secret(words.proof, prove_knowledge(key, Claim::kAccepting, to));
}

RdmaOffer rdma_offer(std::uint64_t ticket, const std::vector<Address>& addresses) {
  RdmaOffer offer{};
  offer.ticket = ticket;
  for (const Address& address : addresses) {
    if (offer.count == RdmaOffer::kAddressesMax) break;
    if (encode(address, offer.addresses.data() + offer.count * RdmaOffer::kAddressSize)) ++offer.count;
  }
  return offer;
}

std::vector<Address> addresses_of(const RdmaOffer& offer) {
  std::vector<Address> addresses;
  const auto count = std::min<std::size_t>(offer.count, RdmaOffer::kAddressesMax);
  for (std::size_t i = 0; i < count; ++i) {
    addresses.push_back(decode(offer.addresses.data() + i * RdmaOffer::kAddressSize));
  }
  return addresses;
}

}  // namespace remotecl
