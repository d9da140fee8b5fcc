#include "runtime/client/monitor.h"

#include <array>
#include <chrono>

#include "runtime/greeting/dialer.h"
#include "runtime/greeting/greeting.h"

namespace remotecl {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{2000};
constexpr std::chrono::milliseconds kAnswerTimeout{3000};
constexpr std::uint32_t kAnswerSizeMax = 16u << 20;

}  // namespace

Monitor::Monitor(const ServerName& server) : address_(server.address) {
  const Dialer dialer(server);
  connection_ = dialer.connect(kConnectTimeout);
  welcome_ = greet_server(*connection_, address_, dialer.token(), Role::kMonitor);
  connection_->set_read_timeout(kAnswerTimeout);
}

void Monitor::receive(MutableBytes to) {
  if (!connection_->read_exactly(to)) {
    throw ConnectionError("lost " + address_.text() + ": it closed the connection, or does not answer");
  }
}

StatusAnswer Monitor::ask() {
  const auto begin = std::chrono::steady_clock::now();
  ByteBuffer question;
  append_message(question, GetStatus{++last_token_});
  connection_->write(question.bytes());  // a broken connection is noticed when it is read
  std::array<std::byte, kMessageHeaderSize> bytes;
  receive(bytes);
  const auto header = decode_frame<MessageHeader>(bytes);
  StatusAnswer answer;
  if (header.size > kAnswerSizeMax) throw ConnectionError(address_.text() + " sent an answer of impossible size");
  answer.payload.resize(header.size);
  receive(answer.payload);
  Decoder decoder(answer.payload);
  SessionError error{};
  if (header.code == Code::kSessionError && decoder.read(error)) {
    throw ConnectionError(address_.text() + " said: " + std::string(error.text));
  }
  if (header.code != Code::kStatus || !decoder.read(answer.status) || answer.status.token != last_token_) {
    throw ConnectionError(address_.text() + " sent a malformed status");
  }
  answer.round_trip_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  return answer;
}

}  // namespace remotecl
