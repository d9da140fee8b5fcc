#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/handshake/handshake.h"
#include "runtime/protocol/frames.h"
#include "runtime/protocol/message_buffer.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/tcp/tcp.h"

namespace remotecl::testing {

// A server on loopback that says what a test wants it to say. The test's thread talks, one of its own accepts.
class WireServer {
 public:
  WireServer() : listener_({"127.0.0.1", 0}) {}
  ~WireServer() {
    listener_.close();
    if (acceptor_.joinable()) acceptor_.join();
  }

  Address address() const { return listener_.address(); }

  // Answers both connections of one client with `welcome` (its text follows), then lists no devices if they are
  // accepted.
  void welcome_both(Welcome welcome, const std::string& text = "") {
    acceptor_ = std::thread([this, welcome, text]() mutable {
      for (std::unique_ptr<Connection>* connection : {&control, &bulk}) {
        *connection = listener_.accept();
        if (*connection == nullptr) return;
        std::array<std::byte, kHelloSize> bytes;
        if (!(*connection)->read_exactly(bytes)) return;
        const auto hello = decode_frame<Hello>(bytes);
        if (connection == &bulk) welcome.secret = accepting_proof(welcome.secret, hello, welcome);
        welcome.text_size = static_cast<std::uint32_t>(text.size());
        (*connection)->write(Bytes(encode_frame<Welcome, kWelcomeSize>(welcome)));
        (*connection)->write(std::as_bytes(std::span(text)));
        if (welcome.status != WelcomeStatus::kAccepted) return;
      }
      send(DeviceList{});
    });
  }
  // Accepts a client that wants as many channels, which it gets: further ones when so many attempts have been refused.
  void welcome_channels(unsigned count, unsigned refusals = 0) {
    acceptor_ = std::thread([this, count, refusals] {
      channels.resize(count);
      for (unsigned i = 0; i < 1 + count + refusals; ++i) {
        std::unique_ptr<Connection> connection = listener_.accept();
        std::array<std::byte, kHelloSize> bytes;
        if (connection == nullptr || !connection->read_exactly(bytes)) return;
        const auto hello = decode_frame<Hello>(bytes);
        Welcome welcome = accepted();
        if (i == 1) welcome.features = features_of_channel_count(count);
        const bool is_refused = i > 1 && i < 2 + refusals;
        if (is_refused) welcome.status = WelcomeStatus::kBusy;
        if (i != 0) welcome.secret = accepting_proof(welcome.secret, hello, welcome);
        connection->write(Bytes(encode_frame<Welcome, kWelcomeSize>(welcome)));
        if (is_refused) continue;
        (i == 0 ? control : channels.at(channel_of(hello.features))) = std::move(connection);
      }
      send(DeviceList{});
    });
  }
  // Accepts and says nothing.
  void stay_silent() {
    acceptor_ = std::thread([this] { control = listener_.accept(); });
  }
  void ready() { acceptor_.join(); }

  template <class Message>
  void send(const Message& message) {
    ByteBuffer out;
    append_message(out, message);
    control->write(out.bytes());
  }

  // The next message of this kind; others before it are forgotten. False when nothing comes for `patience`.
  template <class Message>
  bool wait(Message& message, std::chrono::milliseconds patience = std::chrono::seconds(10)) {
    control->set_read_timeout(patience);
    for (;;) {
      std::uint16_t code = 0;
      Bytes payload;
      while (inbox_.next(code, payload) == MessageBuffer::Next::kMessage) {
        if (code == Message::kCode) return Decoder(payload).read(message);
      }
      const std::size_t count = control->read_some(inbox_.space());
      if (count == 0) return false;
      inbox_.commit(count);
    }
  }

  static Welcome accepted() { return {kMagic, kProtocolVersion, WelcomeStatus::kAccepted, 0, 1, {}, 1, 0, 0}; }

  std::unique_ptr<Connection> control, bulk;
  std::vector<std::unique_ptr<Connection>> channels;  // in the place of `bulk`

 private:
  tcp::Listener listener_;
  MessageBuffer inbox_;
  std::thread acceptor_;
};

}  // namespace remotecl::testing
