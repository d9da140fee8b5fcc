#pragma once

#include <map>
#include <string>
#include <vector>

#include "fakes/wire/wire_client.h"
#include "runtime/protocol/messages/rdma_status.h"

namespace remotecl::testing {

// A Status whose parts can be kept.
struct KnownStatus {
  explicit KnownStatus(const StatusWithRdma& answer) : status(answer.status), rdma(answer.rdma) {
    const Status& from = answer.status;
    rdma.sessions.for_each([this](const RdmaStatus& each) { rdma_sessions.push_back(each); });
    rdma.links.for_each([this](const RdmaStatus& each) { rdma_links.push_back(each); });
    answer.stores.stores.for_each([this](const StoreStatus& each) { stores.push_back(each); });
    answer.users.users.for_each([this](const UserStatus& each) { users.push_back(each); });
    from.devices.for_each([this](const DeviceStatus& device) { devices.push_back(device); });
    from.links.for_each([this](const LinkStatus& link) { links.push_back(link); });
    from.sessions.for_each([this](const SessionStatus& session) {
      sessions.push_back(session);
      if (session.is_own != 0) own = session;
    });
  }

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
  explicit WireMonitor(const Address& address) : connection_(tcp::connect(address, std::chrono::seconds(5))) {
    connection_->set_read_timeout(std::chrono::seconds(20));
    welcome_ = shake_hands(*connection_, hello_of(Role::kMonitor));
  }

  // With a token.
  WireMonitor(const Address& address, const AccessToken& token)
      : connection_(tcp::connect(address, std::chrono::seconds(5))) {
    connection_->set_read_timeout(std::chrono::seconds(20));
    welcome_ = handshake_with_server(*connection_, address, &token, Role::kMonitor);
  }

  Connection& connection() { return *connection_; }
  const std::optional<Welcome>& welcome() const { return welcome_; }

  KnownStatus ask() {
    const Token token = ++last_token_;
    ByteBuffer question;
    append_message(question, GetStatus{token});
    connection_->write(question.bytes());
    StatusWithRdma status;
    if (receive(status) != Status::kCode || status.status.token != token) throw std::runtime_error("no status");
    return KnownStatus(status);
  }
  // The text is valid until the next question.
  SessionKicked kick(std::uint64_t session) {
    const Token token = ++last_token_;
    ByteBuffer question;
    append_message(question, KickSession{token, session});
    connection_->write(question.bytes());
    SessionKicked answer{};
    if (receive(answer) != SessionKicked::kCode || answer.token != token) throw std::runtime_error("no answer");
    return answer;
  }
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
inline KnownStatus ask_status(WireClient& client, Received<StatusWithRdma>& kept) {
  const Token token = client.id();
  client.send(GetStatus{token});
  kept = client.wait<StatusWithRdma>([token](const StatusWithRdma& answer) { return answer.status.token == token; });
  return KnownStatus(kept.message);
}

}  // namespace remotecl::testing
