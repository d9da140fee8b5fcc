// What a transport that moves bytes by itself is told: which memory, where bytes go, and until when.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "fakes/idle_bulk_transport.h"
#include "server/driver/staging.h"
#include "server/fixture.h"
#include "server/transfer/in_place_transfer.h"
#include "server/transfer/packed_transfer.h"

namespace remotecl::testing {
namespace {

using namespace server;

// Moves nothing, and notes what it is asked to move.
class NotingTransport final : public IdleBulkTransport {
 public:
  struct Announcement {
    std::uint64_t transfer;
    BulkDestination to;
  };
  struct Chunk {
    BulkHeader header;
    BulkSource bytes;
  };

  std::unique_ptr<MemoryRegistration> register_memory(MutableBytes memory) override {
    return std::make_unique<Registration>(*this, memory);
  }
  std::unique_ptr<MemoryRegistration> register_staging(MutableBytes memory) override {
    ++staged;
    return register_memory(memory);
  }
  bool send(const BulkHeader& header, const BulkSource& bytes, Use use) override {
    EXPECT_EQ(use, Use::kBorrowed);
    sent.push_back({header, bytes});
    return true;
  }
  bool announce(std::uint64_t transfer, const BulkDestination& to) override {
    announced.push_back({transfer, to});
    return true;
  }
  bool receive(const BulkDestination& to) override {
    received.push_back(to);
    return true;
  }

  std::size_t staging_piece() const override { return piece; }

  std::size_t piece = kStagingSlot;
  std::size_t staged = 0;
  std::map<const MemoryRegistration*, MutableBytes> registered;
  std::vector<Announcement> announced;
  std::vector<BulkDestination> received;
  std::vector<Chunk> sent;

 private:
  struct Registration final : MemoryRegistration {
    Registration(NotingTransport& transport, MutableBytes memory) : transport(transport) {
      transport.registered.emplace(this, memory);
    }
    ~Registration() override { transport.registered.erase(this); }
    NotingTransport& transport;
  };
};

class BulkMemoryTest : public ServerTest {
 protected:
  Device& device() { return *server_.driver().device(0); }
  Ref<Queue> queue() { return make_ref<Queue>(1, device(), 0, make_ref<BlockPool>(CompletionNotifier()), nullptr); }

  // As one of the registered pieces of memory, at this place in it.
  void expect_within(Bytes bytes, const MemoryRegistration* registration, std::size_t offset) {
    ASSERT_TRUE(transport_.registered.contains(registration));
    EXPECT_EQ(bytes.data(), transport_.registered.at(registration).data() + offset);
  }

  NotingTransport transport_;
  StagingSet staging_{transport_};
};

TEST_F(BulkMemoryTest, StagingMemoryIsRegisteredOnceAndAsAWhole) {
  StagingRing& ring = staging_.ring(device());
  ASSERT_EQ(transport_.registered.size(), 1u);
  EXPECT_EQ(transport_.staged, 1u);
  const auto [registration, memory] = *transport_.registered.begin();
  EXPECT_EQ(memory.size(), StagingRing::kSlots * ring.slot_size());
  for (std::size_t i = 0; i < StagingRing::kSlots; ++i) {
    cl_int error = CL_SUCCESS;
    const BulkDestination slot = ring.memory(ring.next(error), 1000);
    EXPECT_EQ(slot.registration, registration);
    EXPECT_EQ(slot.bytes.size(), 1000u);
    expect_within(slot.bytes, slot.registration, i * ring.slot_size());
  }
}

TEST_F(BulkMemoryTest, TheTransportChoosesTheSizeOfStagingPieces) {
  transport_.piece = 4 * kStagingSlot;
  StagingRing& ring = staging_.ring(device());
  EXPECT_EQ(ring.slot_size(), transport_.piece);
  EXPECT_EQ(ring.piece_size(64u << 20, 1), transport_.piece);
  EXPECT_EQ(ring.piece_size(1u << 20, 1), kStagingSmallPiece);
}

TEST_F(BulkMemoryTest, AWriteInPlaceAnnouncesWhereItsBytesGo) {
  std::vector<std::byte> memory(5000);
  {
    const auto write = make_ref<InPlaceWrite>(7, *queue(), nullptr, 0, memory.size());
    write->place.memory = memory.data();
    write->announce_to(transport_);
    ASSERT_EQ(transport_.announced.size(), 1u);
    EXPECT_EQ(transport_.announced[0].transfer, 7u);
    EXPECT_EQ(transport_.announced[0].to.bytes.size(), memory.size());
    expect_within(transport_.announced[0].to.bytes, transport_.announced[0].to.registration, 0);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(write->receive(transport_, 2500, staging_));
      write->count(2500);
    }
    ASSERT_EQ(transport_.received.size(), 2u);
    expect_within(transport_.received[1].bytes, transport_.received[1].registration, 2500);
    EXPECT_EQ(transport_.registered.size(), 1u);
    EXPECT_EQ(transport_.staged, 0u) << "a buffer counts as memory of its device";
  }
  EXPECT_TRUE(transport_.registered.empty());
}

TEST_F(BulkMemoryTest, APackedReadSendsChunksOfRegisteredMemory) {
  constexpr std::size_t kSize = kBulkChunkMax + 1000;
  const auto read = make_ref<PackedRead>(9, *queue(), nullptr, 0, kSize, std::make_unique<std::byte[]>(kSize));
  EXPECT_TRUE(read->send(transport_, staging_, {}));
  ASSERT_EQ(transport_.sent.size(), 2u);
  EXPECT_EQ(transport_.sent[0].header.size, kBulkChunkMax);
  EXPECT_EQ(transport_.sent[1].header.transfer, 9u);
  EXPECT_EQ(transport_.sent[1].header.size, 1000u);
  expect_within(transport_.sent[1].bytes.bytes, transport_.sent[1].bytes.registration, kBulkChunkMax);
}

}  // namespace
}  // namespace remotecl::testing
