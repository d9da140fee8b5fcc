#include "fakes/wire/wire_monitor.h"

#include <chrono>

#include "runtime/transport/tcp/operator_socket.h"

namespace remotecl::testing {

KnownStatus::KnownStatus(const StatusWithRdma& answer) : status(answer.status), rdma(answer.rdma) {
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

namespace {

std::unique_ptr<Connection> connect(const Address& address) {
  auto connection = operator_socket::connect(address);
  return connection ? std::move(connection) : tcp::connect(address, std::chrono::seconds(5));
}

}  // namespace

WireMonitor::WireMonitor(const Address& address) : WireMonitor(connect(address)) {}

WireMonitor::WireMonitor(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {
  connection_->set_read_timeout(std::chrono::seconds(20));
  welcome_ = shake_hands(*connection_, hello_of(Role::kMonitor));
}

WireMonitor::WireMonitor(const Address& address, const AccessToken& token)
    : WireMonitor(connect(address), address, token) {}

WireMonitor::WireMonitor(std::unique_ptr<Connection> connection, const Address& address, const AccessToken& token)
    : connection_(std::move(connection)) {
  connection_->set_read_timeout(std::chrono::seconds(20));
  welcome_ = handshake_with_server(*connection_, address, &token, Role::kMonitor);
}

KnownStatus WireMonitor::ask() {
  const Token token = ++last_token_;
  ByteBuffer question;
  append_message(question, GetStatus{token});
  connection_->write(question.bytes());
  StatusWithRdma status;
  if (receive(status) != Status::kCode || status.status.token != token) throw std::runtime_error("no status");
  return KnownStatus(status);
}

SessionKicked WireMonitor::kick(std::uint64_t session) {
  const Token token = ++last_token_;
  ByteBuffer question;
  append_message(question, KickSession{token, session});
  connection_->write(question.bytes());
  SessionKicked answer{};
  if (receive(answer) != SessionKicked::kCode || answer.token != token) throw std::runtime_error("no answer");
  return answer;
}

KnownStatus ask_status(WireClient& client, Received<StatusWithRdma>& kept) {
  const Token token = client.id();
  client.send(GetStatus{token});
  kept = client.wait<StatusWithRdma>([token](const StatusWithRdma& answer) { return answer.status.token == token; });
  return KnownStatus(kept.message);
}

}  // namespace remotecl::testing
