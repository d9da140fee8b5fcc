#include "seeds.h"
#include "server/isolation/session_channel.h"
#include "support/process_records.h"

namespace remotecl::fuzz {
namespace {

using server::PacketType;

template <class Message>
Record packet(PacketType type, const Message& message, Passed passed = kNothing) {
  Record record{static_cast<std::uint16_t>(type), passed, std::vector<std::byte>(wire::encoded_size(message))};
  std::byte* at = record.payload.data();
  wire::encode(at, message);
  return record;
}

Record claim_of(std::uint16_t counter, std::uint64_t value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {kWriteClaims, counter, {bytes.begin(), bytes.end()}};
}

}  // namespace

std::map<std::string, std::vector<Record>> process_seeds() {
  const server::StoreMessage content{1, {}};
  const LoadOfDevice load{1, 2, 3};
  std::map<std::string, std::vector<Record>> seeds;
  seeds["claims"] = {claim_of(2, 7000),    packet(PacketType::kClaim, server::ClaimMessage{1, 2, 0}),
                     claim_of(2, 5000),    packet(PacketType::kClaim, server::ClaimMessage{2, 2, 1}),
                     claim_of(4, 1 << 20), packet(PacketType::kClaim, server::ClaimMessage{0, 4, 0})};
  seeds["store"] = {packet(PacketType::kKeep, content, kSealedMemory), packet(PacketType::kFind, content),
                    packet(PacketType::kKeepUpload, content, kMemory), packet(PacketType::kOpenUpload, content),
                    packet(PacketType::kDoubtUpload, content),         {kReadAnswers, 0, {}}};
  seeds["loads"] = {packet(PacketType::kWatchLoads, WatchLoads{1}),
                    packet(PacketType::kLoads, DeviceLoads{std::span(&load, 1)}),
                    packet(PacketType::kWatchLoads, WatchLoads{0})};
  seeds["sockets"] = {packet(PacketType::kOpenSocket, server::SocketMessage{1, "tcp:127.0.0.1:1", -1}),
                      packet(PacketType::kOpen, server::OpenMessage{2, 1, 2, 3})};
  const auto changed = [](std::size_t from) {
    std::vector<std::byte> payload(from + 8);
    std::fill_n(payload.end() - 8, 8, std::byte{0xff});
    return payload;
  };
  seeds["report"] = {{kQuestion, 0, {}},          {kSayReport, 0, {}}, {kQuestion, 0, {}},
                     {kSayReport, 0, changed(8)}, {kQuestion, 0, {}},  {kSayReport, 0, changed(64)}};
  seeds["report-unasked"] = {{kSayReport, 0, {}}};
  seeds["end"] = {{kSayReport, 1, {}}, packet(PacketType::kKeep, content, kSealedMemory)};
  seeds["wrong-descriptors"] = {packet(PacketType::kKeep, content, kSeveral)};
  seeds["wrong-state"] = {packet(PacketType::kReady, server::ReadyMessage{"x"})};
  return seeds;
}

}  // namespace remotecl::fuzz
