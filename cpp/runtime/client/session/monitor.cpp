#include "runtime/client/session/monitor.h"

#include <array>
#include <chrono>
#include <utility>

#include "runtime/base/printable.h"
#include "runtime/handshake/dialer.h"
#include "runtime/handshake/handshake.h"
#include "runtime/handshake/retries.h"
#include "runtime/transport/passing_failure.h"

namespace remotecl {
namespace {

constexpr std::chrono::milliseconds kMonitorTimeout{2000};
constexpr std::chrono::milliseconds kReplyTimeout{3000};
constexpr std::chrono::milliseconds kKickTimeout{20'000};  // the server waits for the session's end
constexpr std::uint32_t kReplySizeMax = 16u << 20;

}  // namespace

Monitor::Monitor(const ServerName& server) : address_(server.address) {
  const Dialer dialer(server);
  for (Retries retries; connection_ == nullptr;) {
    try {
      auto connection = dialer.connect_for_monitor(kMonitorTimeout);
      welcome_ = handshake_with_server(*connection, address_, dialer.token(), Role::kMonitor);
      connection_ = std::move(connection);
    } catch (const PassingFailure&) {
      retries.rest(kMonitorTimeout);
    }
  }
  connection_->set_read_timeout(kReplyTimeout);
}

void Monitor::receive(MutableBytes to) {
  if (!connection_->read_exactly(to)) {
    throw ConnectionError("lost " + address_.text() + ": it closed the connection, or does not answer");
  }
}

std::vector<std::byte> Monitor::receive_reply(std::uint16_t code) {
  std::array<std::byte, kMessageHeaderSize> bytes;
  receive(bytes);
  const auto header = decode_frame<MessageHeader>(bytes);
  if (header.size > kReplySizeMax) throw ConnectionError(address_.text() + " sent an answer of impossible size");
  std::vector<std::byte> payload(header.size);
  receive(payload);
  SessionError error{};
  if (header.code == Code::kSessionError && Decoder(payload).read(error)) {
    throw ConnectionError(address_.text() + " said: " + printable(error.text));
  }
  if (header.code != code) throw ConnectionError(address_.text() + " sent a malformed status");
  return payload;
}

StatusReply Monitor::ask() {
  const auto begin = std::chrono::steady_clock::now();
  ByteBuffer question;
  append_message(question, GetStatus{++last_token_});
  connection_->write(question.bytes());  // a broken connection is noticed by the read
  StatusReply reply;
  reply.payload = receive_reply(Code::kStatus);
  if (!Decoder(reply.payload).read(static_cast<StatusWithRdma&>(reply)) || reply.status.token != last_token_) {
    throw ConnectionError(address_.text() + " sent a malformed status");
  }
  reply.round_trip_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  return reply;
}

Monitor::Kicked Monitor::kick(std::uint64_t session) {
  ByteBuffer question;
  append_message(question, KickSession{++last_token_, session});
  connection_->write(question.bytes());
  connection_->set_read_timeout(kKickTimeout);
  const std::vector<std::byte> payload = receive_reply(Code::kSessionKicked);
  connection_->set_read_timeout(kReplyTimeout);
  SessionKicked reply{};
  if (!Decoder(payload).read(reply) || reply.token != last_token_ || reply.result > KickResult::kRefused) {
    throw ConnectionError(address_.text() + " sent a malformed answer");
  }
  return {reply.result, printable(reply.text)};
}

}  // namespace remotecl
