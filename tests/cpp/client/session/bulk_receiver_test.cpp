#include "runtime/client/session/bulk_receiver.h"

#include <gtest/gtest.h>

#include <vector>

#include "client/session/fake_channel_session.h"
#include "fakes/idle_bulk_transport.h"
#include "runtime/client/session/bulk_channel.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kSize = 3000;

// Has chunks of a third of the transfer, and notes where it is told that they go.
class ChunkTransport final : public IdleBulkTransport {
 public:
  bool may_announce = true;
  std::size_t announced = 0;   // bytes
  std::size_t registered = 0;  // bytes, now
  unsigned announcements = 0, withdrawals = 0, outside = 0;

  std::unique_ptr<MemoryRegistration> register_memory(MutableBytes memory) override {
    return std::make_unique<Registration>(*this, memory);
  }
  bool announce(std::uint64_t, const BulkDestination& to) override {
    ++announcements;
    if (may_announce) announced = to.bytes.size();
    return may_announce;
  }
  void withdraw(std::uint64_t) override {
    ++withdrawals;
    EXPECT_NE(registered, 0u) << "the memory is in use until then";
  }
  std::ptrdiff_t try_receive_header(BulkHeader& header) override {
    header = {7, kSize / 3, 0};
    return kBulkHeaderSize;
  }
  std::ptrdiff_t try_receive(const BulkDestination& to) override {
    const auto* const by = static_cast<const Registration*>(to.registration);
    const bool is_within = by != nullptr && to.bytes.data() >= by->memory.data() &&
                           to.bytes.data() + to.bytes.size() <= by->memory.data() + by->memory.size();
    if (!is_within) ++outside;
    return static_cast<std::ptrdiff_t>(to.bytes.size());
  }

 private:
  struct Registration final : MemoryRegistration {
    Registration(ChunkTransport& transport, MutableBytes memory) : transport(transport), memory(memory) {
      transport.registered += memory.size();
    }
    ~Registration() override { transport.registered -= memory.size(); }
    ChunkTransport& transport;
    const MutableBytes memory;
  };
};

class BulkReceiverTest : public ::testing::Test {
 protected:
  void receive() {
    const auto transfer = std::make_shared<ClientTransfer>();
    transfer->id = 7;
    transfer->channel = &channel_;
    transfer->size = kSize;
    transfer->memory = memory_.data();
    session_.receiving = transfer;
    BulkReceiver receiver(session_, channel_, 0);
    receiver.use(transport_);
    EXPECT_TRUE(receiver.read());
    EXPECT_EQ(session_.ended, std::vector<TransferId>{7});
    EXPECT_EQ(transport_.outside, 0u);
    EXPECT_EQ(transport_.registered, 0u);
  }

  std::vector<std::byte> memory_{kSize};
  FakeChannelSession session_;
  BulkChannel channel_{session_, 0};
  ChunkTransport transport_;
};

// So that the chunks after the first one come without waiting for their destinations.
TEST_F(BulkReceiverTest, TheMemoryOfATransferIsAnnouncedAsAWhole) {
  receive();
  EXPECT_EQ(transport_.announcements, 1u);
  EXPECT_EQ(transport_.announced, kSize);
  EXPECT_EQ(transport_.withdrawals, 1u);
}

TEST_F(BulkReceiverTest, ChunksAreRegisteredOneByOneWhereTheWholeCannotBeAnnounced) {
  transport_.may_announce = false;
  receive();
  EXPECT_EQ(transport_.announced, 0u);
  EXPECT_EQ(transport_.withdrawals, 0u);
}

}  // namespace
}  // namespace remotecl::testing
