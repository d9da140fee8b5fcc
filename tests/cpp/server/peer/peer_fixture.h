#pragma once

#include "server/fixture.h"

namespace remotecl::testing {

// One client of two daemons, by hand. The first knows the second one as peer 2, the second one the first as peer 1.
class PeerTest : public ServerTest {
 protected:
  static constexpr PeerId kFirst = 1, kSecond = 2;

  explicit PeerTest(LimitsTable limits = {}, const server::Server::Provide& provide = nullptr)
      : ServerTest(std::move(limits), nullptr, provide),
        second_{Address{"127.0.0.1", 0}, "0", {}, {}, {}, std::nullopt, {}, nullptr} {
    for (WireClient* client : {&a_, &b_}) client->control().set_read_timeout(std::chrono::seconds(20));
    a_queue_ = a_.make_queue();
    b_queue_ = b_.make_queue();
  }

  static Secret secret_of(std::uint8_t seed) {
    Secret secret{};
    secret.fill(seed);
    return secret;
  }
  // B accepts, A connects. Each link has a secret of its own, as clients make them: what a former link loses must not
  // go on over this one.
  void link() {
    const LinkId id = ++links_;
    const Secret secret = secret_of(static_cast<std::uint8_t>(id));
    b_.send(AcceptPeer{kFirst, id, secret});
    connect(id, secret);
    EXPECT_EQ(state(a_, id), 1u);
    EXPECT_EQ(state(b_, id), 1u);
  }
  void connect(LinkId id, const Secret& secret, std::uint64_t session = 0) {
    const PeerAddress address{"127.0.0.1", second_.address().port};
    a_.send(ConnectPeer{kSecond, id, session != 0 ? session : b_.welcome().session, b_.welcome().epoch, secret,
                        std::span<const PeerAddress>(&address, 1)});
  }
  static std::uint32_t state(WireClient& client, LinkId id) {
    return client.wait<PeerState>([id](const PeerState& state) { return state.link == id; })->is_connected;
  }
  static std::string end_of_link(WireClient& client) {
    const auto state = client.wait<PeerState>([](const PeerState& state) { return state.is_connected == 0; });
    return std::string(state->text);
  }

  // A's buffer to B's.
  EventId send(ObjectId from, std::uint64_t size, TransferId transfer, std::span<const EventId> waits = {},
               ObjectId queue = 0) {
    const EventId event = a_.id();
    a_.send(EnqueueSend{queue != 0 ? queue : a_queue_, event, from, 0, 0, size, transfer, kSecond, waits});
    a_.send(ObserveEvent{event});
    return event;
  }
  EventId receive(ObjectId to, std::uint64_t size, TransferId transfer, std::span<const EventId> waits = {},
                  ObjectId queue = 0) {
    const EventId event = b_.id();
    b_.send(EnqueueReceive{queue != 0 ? queue : b_queue_, event, to, 0, 0, size, transfer, kFirst, waits});
    b_.send(ObserveEvent{event});
    return event;
  }
  static ObjectId filled(WireClient& client, ObjectId queue, std::uint64_t size, int value) {
    const ObjectId buffer = client.make_buffer(size);
    client.send(EnqueueFill{queue, 0, buffer, 0, size, std::as_bytes(std::span(&value, 1)), {}});
    return buffer;
  }
  static int last_int(WireClient& client, ObjectId queue, ObjectId buffer, std::uint64_t size) {
    const TransferId transfer = client.id();
    client.send(EnqueueRead{queue, client.id(), buffer, size - 4, 4, transfer, {}});
    const auto data = client.wait<ReadData>([transfer](const ReadData& read) { return read.transfer == transfer; });
    int value = 0;
    std::memcpy(&value, data->data.data(), 4);
    return value;
  }
  // Both sessions can do everything again, over a new link where the old one is gone.
  void expect_usable(bool relink = true) {
    if (relink) link();
    for (const std::uint64_t size : {std::uint64_t{4096}, kLarge}) {
      const TransferId transfer = ++transfers_;
      const ObjectId from = filled(a_, a_queue_, size, 77), to = b_.make_buffer(size);
      send(from, size, transfer);
      EXPECT_EQ(b_.event_status(receive(to, size, transfer)), CL_COMPLETE);
      EXPECT_EQ(last_int(b_, b_queue_, to, size), 77);
      a_.send(ReleaseBuffer{from});
      b_.send(ReleaseBuffer{to});
    }
  }

  static constexpr std::uint64_t kLarge = 3u << 20;
  server::Server second_;
  WireClient a_{address()}, b_{second_.address()};
  ObjectId a_queue_ = 0, b_queue_ = 0;
  LinkId links_ = 0;
  TransferId transfers_ = 1'000'000;
};

// A test that plays the other server: A is real, this end of the link is not.
class HostilePeerTest : public PeerTest {
 protected:
  explicit HostilePeerTest(LimitsTable limits = {}, const server::Server::Provide& provide = nullptr)
      : PeerTest(std::move(limits), provide) {}

  // A accepts, the test connects with both connections.
  void join(Secret secret = secret_of(9)) {
    const LinkId id = ++links_;
    a_.send(AcceptPeer{kSecond, id, secret});
    a_.ping();
    control_ = knock(Role::kPeerControl, secret);
    bulk_ = knock(Role::kPeerBulk, secret);
    ASSERT_TRUE(control_ && bulk_);
    EXPECT_EQ(state(a_, id), 1u);
  }
  // Null when refused.
  std::unique_ptr<Connection> knock(Role role, const Secret& secret, std::uint64_t session = 0) {
    auto connection = connect_to_first();
    Hello hello = hello_of(role);
    hello.session = session != 0 ? session : a_.welcome().session;
    hello.secret = connecting_proof(secret, hello);
    const auto welcome = shake_hands(*connection, hello);
    return welcome && welcome->status == WelcomeStatus::kAccepted ? std::move(connection) : nullptr;
  }
  std::unique_ptr<Connection> connect_to_first() {
    auto connection = ServerTest::connect();
    connection->set_read_timeout(std::chrono::seconds(20));
    return connection;
  }
  template <class Message>
  void say(const Message& message) {
    ByteBuffer out;
    append_message(out, message);
    control_->write(out.bytes());
  }
  void say_raw(std::uint32_t size, std::uint16_t code, Bytes payload) {
    control_->write(Bytes(encode_frame<MessageHeader, kMessageHeaderSize>(MessageHeader{size, code, 0})), payload);
  }
  void say_chunk(TransferId transfer, std::uint32_t size, std::int32_t status, std::size_t bytes) {
    const std::vector<std::byte> data(bytes, std::byte{0x5a});
    bulk_->write(Bytes(encode_frame<BulkHeader, kBulkHeaderSize>(BulkHeader{transfer, size, status})), data);
  }
  // The link ends with a reason that contains `words`, the session goes on.
  void expect_only_link_ends(const std::string& words) {
    const std::string reason = end_of_link(a_);
    EXPECT_NE(reason.find(words), std::string::npos) << reason;
    a_.ping();
    EXPECT_EQ(last_int(a_, a_queue_, filled(a_, a_queue_, 64, 5), 64), 5);
  }
  // A's command that receives from this test.
  EventId receive_here(ObjectId to, std::uint64_t size, TransferId transfer, std::span<const EventId> waits = {}) {
    const EventId event = a_.id();
    a_.send(EnqueueReceive{a_.make_queue(), event, to, 0, 0, size, transfer, kSecond, waits});
    a_.send(ObserveEvent{event});
    return event;
  }
  // The link's next message of this kind; others before it are skipped. Throws std::runtime_error when it has ended.
  template <class Message>
  Received<Message> next() {
    for (;;) {
      std::array<std::byte, kMessageHeaderSize> bytes;
      if (!control_->read_exactly(bytes)) throw std::runtime_error("the link has ended");
      const auto header = decode_frame<MessageHeader>(bytes);
      Received<Message> received{std::make_shared<std::vector<std::byte>>(header.size)};
      if (!control_->read_exactly(*received.bytes)) throw std::runtime_error("the link has ended");
      if (header.code == Message::kCode && Decoder(*received.bytes).read(received.message)) return received;
    }
  }
  void wait_for_pull(TransferId transfer) {
    while (next<PullTransfer>()->transfer != transfer) {
    }
  }

  std::unique_ptr<Connection> control_, bulk_;
};

}  // namespace remotecl::testing
