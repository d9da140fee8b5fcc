#include <gmock/gmock.h>

#include <cstring>

#include "rdma_pair.h"

namespace remotecl::testing {
namespace {

using ::testing::HasSubstr;

// A peer that does what no channel does, with a queue pair of its own.
class HostilePeer {
 public:
  explicit HostilePeer(const Address& address, Bytes hello) {
    const auto deadline = std::chrono::steady_clock::now() + kDialTime;
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    to.sin_addr.s_addr = htonl(0x0a090001);
    const auto& cm = id_->library().cm;
    EXPECT_EQ(cm.resolve_addr(id_->get(), nullptr, reinterpret_cast<sockaddr*>(&to), 10'000), 0);
    id_->await(RDMA_CM_EVENT_ADDR_RESOLVED, deadline);
    EXPECT_EQ(cm.resolve_route(id_->get(), 10'000), 0);
    id_->await(RDMA_CM_EVENT_ROUTE_RESOLVED, deadline);
    domain_ = std::make_shared<const ProtectionDomain>(id_);
    memory_ = std::make_unique<OwnMemory>(domain_, 64 * rdma::kBufferBytes);
    pair_ = std::make_unique<QueuePair>(domain_);
    for (unsigned i = 0; i < 32; ++i) pair_->receive(i, buffer(i), memory_->registration());
    rdma_conn_param parameters{};
    parameters.private_data = hello.data();
    parameters.private_data_len = static_cast<std::uint8_t>(hello.size());
    parameters.responder_resources = parameters.initiator_depth = 1;
    parameters.retry_count = parameters.rnr_retry_count = 7;
    EXPECT_EQ(cm.connect(id_->get(), &parameters), 0);
  }

  void await_connection() { id_->await(RDMA_CM_EVENT_ESTABLISHED, std::chrono::steady_clock::now() + kDialTime); }
  rdma_cm_event_type next_event() {
    for (;;) {
      if (const auto event = id_->next_event()) return event->type;
      std::this_thread::yield();
    }
  }
  QueuePair& pair() { return *pair_; }

  void send(Bytes message) {
    const MutableBytes to = buffer(40);
    std::memcpy(to.data(), message.data(), message.size());
    EXPECT_TRUE(pair_->send(to.first(message.size()), memory_->registration()));
  }
  template <class T>
  void send(rdma::MessageKind kind, const T& payload, std::uint32_t limit = MessageCredits::kCounted) {
    struct {
      rdma::MessageHeader header;
      T payload;
    } const message{{kind, 0, sizeof(T), limit}, payload};
    send(std::as_bytes(std::span(&message, 1)));
  }
  void write(std::size_t size, std::uint64_t address, std::uint32_t key, std::uint32_t immediate) {
    EXPECT_TRUE(pair_->write(Bytes(memory_->bytes()).first(size), memory_->registration(), address, key, immediate));
  }
  ibv_wc next_completion() {
    std::array<ibv_wc, 1> completion;
    while (pair_->poll(completion) == 0) std::this_thread::yield();
    if (QueuePair::is_send(completion[0])) pair_->note_completed(completion[0]);
    return completion[0];
  }
  rdma::GrantMessage next_grant() {
    for (;;) {
      const ibv_wc completion = next_completion();
      if (QueuePair::is_send(completion) || completion.status != IBV_WC_SUCCESS) continue;
      rdma::GrantMessage grant;
      std::memcpy(&grant, buffer(static_cast<unsigned>(completion.wr_id)).data() + sizeof(rdma::MessageHeader),
                  sizeof(grant));
      return grant;
    }
  }

 private:
  MutableBytes buffer(unsigned number) {
    return memory_->bytes().subspan(number * rdma::kBufferBytes, rdma::kBufferBytes);
  }

  std::shared_ptr<CmId> id_ = std::make_shared<CmId>(RdmaLibrary::get());
  std::shared_ptr<const ProtectionDomain> domain_;
  std::unique_ptr<OwnMemory> memory_;
  std::unique_ptr<QueuePair> pair_;
};

class RdmaHostileTest : public RdmaTest {
 protected:
  void connect() {
    listener_ = std::make_unique<RdmaListener>(Address{kV4, 0});
    const rdma::Preamble preamble;
    peer_ = std::make_unique<HostilePeer>(listener_->address(), std::as_bytes(std::span(&preamble, 1)));
    channel_ = listener_->next()->accept({});
    peer_->await_connection();
  }
  void expect_end(const char* reason) {
    std::byte byte{};
    channel_->expect(1, 1);
    EXPECT_FALSE(channel_->receive({{&byte, 1}, nullptr}));
    EXPECT_THAT(channel_->reason(), HasSubstr(reason));
  }

  std::unique_ptr<RdmaListener> listener_;
  std::unique_ptr<HostilePeer> peer_;
  std::unique_ptr<RdmaChannel> channel_;
};

TEST_F(RdmaHostileTest, AStrangerIsRefused) {
  RdmaListener listener({kV4, 0});
  HostilePeer stranger(listener.address(), as_bytes("GET / HTTP/1.1"));
  std::thread server([&] { EXPECT_EQ(listener.next(), nullptr); });
  EXPECT_EQ(stranger.next_event(), RDMA_CM_EVENT_REJECTED);
  listener.stop();
  server.join();
}

TEST_F(RdmaHostileTest, MessagesThatMakeNoSenseEndTheChannel) {
  const std::uint64_t payload = 0;
  const rdma::GrantMessage far_slot{1, 4096, 4096, 1, rdma::kWindows};
  const rdma::GrantMessage empty{1, 4096, 0, 1, 0};
  const std::function<void(HostilePeer&)> messages[] = {
      [](HostilePeer& peer) { peer.send(as_bytes("x")); },                                // no header
      [&](HostilePeer& peer) { peer.send(static_cast<rdma::MessageKind>(9), payload); },  // no such kind
      [&](HostilePeer& peer) { peer.send(rdma::MessageKind::kCredit, payload, 1u << 20); },
      [&](HostilePeer& peer) { peer.send(rdma::MessageKind::kCredit, payload); },  // has no payload
      [&](HostilePeer& peer) { peer.send(rdma::MessageKind::kGrant, payload); },
      [&](HostilePeer& peer) { peer.send(rdma::MessageKind::kGrant, far_slot); },
      [&](HostilePeer& peer) { peer.send(rdma::MessageKind::kGrant, empty); },
      [&](HostilePeer& peer) { peer.send(rdma::MessageKind::kSkip, std::uint32_t{1}); },
  };
  for (const auto& message : messages) {
    connect();
    message(*peer_);
    expect_end("a message that makes no sense");
  }
}

TEST_F(RdmaHostileTest, AWriteThatNamesNoWindowEndsTheChannel) {
  connect();
  Registered to(*channel_, pattern(4096, 1));
  channel_->announce(1, to.destination());
  const rdma::GrantMessage grant = peer_->next_grant();
  peer_->write(16, grant.address, grant.key, 77);
  expect_end("where there is no window");
}

TEST_F(RdmaHostileTest, AWriteThatNamesAnotherWindowEndsTheChannel) {
  connect();
  Registered to(*channel_, pattern(4096, 1));
  channel_->announce(1, to.destination());
  const rdma::GrantMessage grant = peer_->next_grant();
  peer_->write(16, grant.address, grant.key, grant.slot + 1);
  expect_end("something else than it was asked for");
}

TEST_F(RdmaHostileTest, MoreBytesThanTheWindowHasEndTheChannel) {
  connect();
  Registered to(*channel_, pattern(4096, 1));
  channel_->announce(1, to.part(0, 100));
  const rdma::GrantMessage grant = peer_->next_grant();
  peer_->write(80, grant.address, grant.key, grant.slot);
  peer_->write(80, grant.address, grant.key, grant.slot);  // within the window, and too many in all
  channel_->expect(1, 80);
  EXPECT_TRUE(channel_->receive(to.part(0, 80)));
  expect_end("something else than it was asked for");
}

// The device refuses these, and nothing of the memory changes.
class RdmaForeignMemoryTest : public RdmaHostileTest {
 protected:
  void expect_refused(Registered& memory) {
    ibv_wc last;
    do {
      last = peer_->next_completion();
    } while (!QueuePair::is_send(last) || peer_->pair().completed() < peer_->pair().posted());
    EXPECT_EQ(last.status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(memory.bytes, pattern(memory.bytes.size(), 1));
  }
};

TEST_F(RdmaForeignMemoryTest, BesideTheWindow) {
  if (uses_windows()) GTEST_SKIP() << "Soft-RoCE looks at the memory around the window";
  connect();
  Registered memory(*channel_, pattern(4096, 1));
  channel_->announce(1, memory.part(1000, 1000));
  const rdma::GrantMessage grant = peer_->next_grant();
  peer_->write(16, grant.address + grant.size - 8, grant.key, grant.slot);
  expect_refused(memory);
}

TEST_F(RdmaForeignMemoryTest, InRegisteredMemoryThatIsNoDestination) {
  connect();
  Registered memory(*channel_, pattern(4096, 1));
  peer_->write(16, reinterpret_cast<std::uint64_t>(memory.bytes.data()), memory.registration->remote_key(), 0);
  expect_refused(memory);
}

TEST_F(RdmaForeignMemoryTest, AfterTheTransfer) {
  connect();
  Registered memory(*channel_, pattern(4096, 1));
  channel_->announce(1, memory.part(0, 16));
  const rdma::GrantMessage grant = peer_->next_grant();
  peer_->write(16, grant.address, grant.key, grant.slot);
  channel_->expect(1, 16);
  ASSERT_TRUE(channel_->receive(memory.part(0, 16)));
  memory.bytes = pattern(4096, 1);
  peer_->write(16, grant.address, grant.key, grant.slot);
  expect_refused(memory);
}

TEST_F(RdmaForeignMemoryTest, AfterAWithdrawal) {
  connect();
  Registered memory(*channel_, pattern(4096, 1));
  channel_->announce(1, memory.destination());
  const rdma::GrantMessage grant = peer_->next_grant();
  channel_->withdraw(1);
  peer_->write(16, grant.address, grant.key, grant.slot);
  expect_refused(memory);
}

}  // namespace
}  // namespace remotecl::testing
