#pragma once

#include <map>
#include <string>
#include <vector>

#include "fakes/wire/wire_client.h"
#include "runtime/protocol/messages/rdma_status.h"

namespace remotecl::testing {

// A Status whose parts can be kept.
struct KnownStatus {
  explicit KnownStatus(const StatusWithRdma& answer);

  Status status;  // its texts and lists end with the message
  StatusRdma rdma;
  std::vector<RdmaStatus> rdma_sessions, rdma_links;
  std::vector<DeviceStatus> devices;
  std::vector<SessionStatus> sessions;
  std::vector<LinkStatus> links;
  std::vector<UserStatus> users;
  std::vector<StoreStatus> stores;
  SessionStatus own{};
};

// Asks without a session.
class WireMonitor {
 public:
  // Over the operators' socket, where there is one.
  explicit WireMonitor(const Address& address);
  explicit WireMonitor(std::unique_ptr<Connection> connection);

  // With a token.
  WireMonitor(const Address& address, const AccessToken& token);
  WireMonitor(std::unique_ptr<Connection> connection, const Address& address, const AccessToken& token);

  Connection& connection() { return *connection_; }
  const std::optional<Welcome>& welcome() const { return welcome_; }

  KnownStatus ask();
  // The text is valid until the next question.
  SessionKicked kick(std::uint64_t session);
  // The code of the next message; 0 when the server closes instead.
  template <class Message>
  std::uint16_t receive(Message& message) {
    std::array<std::byte, kMessageHeaderSize> header_bytes;
    if (!connection_->read_exactly(header_bytes)) return 0;
    const auto header = decode_frame<MessageHeader>(header_bytes);
    payload_.resize(header.size);
    if (!connection_->read_exactly(payload_)) return 0;
    Decoder decoder(payload_);
    if (header.code == Message::kCode && !(decoder.read(message) && decoder.at_end())) {
      throw std::runtime_error("malformed");
    }
    return header.code;
  }

 private:
  std::unique_ptr<Connection> connection_;
  std::optional<Welcome> welcome_;
  std::vector<std::byte> payload_;
  Token last_token_ = 0;
};

// Asks in a session. The result is valid until the session asks again.
KnownStatus ask_status(WireClient& client, Received<StatusWithRdma>& kept);

}  // namespace remotecl::testing
