#include "extras/rdma/rdma_request.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "runtime/crypto/secret.h"
#include "runtime/handshake/proof.h"

namespace remotecl {
namespace {

constexpr std::size_t kNumberSize = 16;  // of an IPv6 address

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

}  // namespace

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
