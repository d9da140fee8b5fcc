// Offers of chunks, to a server that keeps uploads.
#include <filesystem>
#include <fstream>
#include <random>

#include "fakes/wire/wire_monitor.h"
#include "runtime/store/file_directory.h"
#include "runtime/store/store.h"
#include "server/fixture.h"
#include "store/temporary_folder.h"

namespace remotecl::testing {
namespace {

// What the server keeps. Made before it.
struct Kept {
  Kept() { store.add_uploads(std::make_unique<Store>(open(), bounds, "", Store::Kind::kUploads)); }
  std::unique_ptr<FileDirectory> open() const {
    return std::make_unique<FileDirectory>(folder.path(), FileDirectory::Sync::kNever);
  }

  TemporaryFolder folder;
  Store::Bounds bounds{.memory = 0};
  Store store{open(), bounds};
};

std::vector<std::byte> random_chunk(unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(kUploadChunk);
  for (std::byte& byte : bytes) byte = std::byte(random());
  return bytes;
}

// A write of a chunk, of which the server has asked for the bytes.
struct Write {
  explicit Write(WireClient& client)
      : client(client), queue(client.make_queue()), buffer(client.make_buffer(kUploadChunk)) {
    client.bulk();
    client.send(EnqueueWrite{queue, event, buffer, 0, kUploadChunk, transfer, {}, {}});
    client.send(ObserveEvent{event});
    client.wait<PullTransfer>([this](const PullTransfer& pull) { return pull.transfer == transfer; });
  }
  // Whether the server has found it.
  bool offer(Bytes chunk) const {
    const Digest digest = sha256(chunk);
    client.send(OfferChunks{transfer, 0, std::as_bytes(std::span(digest))});
    const auto found =
        client.wait<ChunksFound>([this](const ChunksFound& found) { return found.transfer == transfer; });
    EXPECT_EQ(found->found.size(), 1u);
    return found->found[0] != std::byte{};
  }
  void leave_out() const {
    client.bulk().write(encode_frame<BulkHeader, kBulkHeaderSize>({transfer, 0, kStoredChunk}));
  }

  WireClient& client;
  const ObjectId queue;  // of its own, because most of these writes do not end
  const ObjectId buffer;
  const EventId event = client.id();
  const TransferId transfer = client.id();
};

class OfferedChunksTest : private Kept, public ServerTest {
 protected:
  OfferedChunksTest() : ServerTest({}, &store) { client_.control().set_read_timeout(std::chrono::seconds(20)); }

  // As a former upload.
  void keep(Bytes chunk) { store.uploads()->keep("direct default", sha256(chunk), chunk); }

  using Kept::folder;
  WireClient client_{address()};
};

TEST_F(OfferedChunksTest, MonitorsAreToldWhatIsKept) {
  const auto chunk = random_chunk(1);
  keep(chunk);
  EXPECT_TRUE(Write(client_).offer(chunk));
  EXPECT_FALSE(Write(client_).offer(random_chunk(2)));
  const std::vector<StoreStatus> stores = WireMonitor(address()).ask().stores;
  ASSERT_EQ(stores.size(), 2u) << "of programs and of uploads";
  EXPECT_EQ(stores[0].entries, 0u);
  EXPECT_EQ(stores[1].entries, 1u);
  EXPECT_GT(stores[1].bytes, kUploadChunk);
  EXPECT_EQ(stores[1].hits, 1u);
  EXPECT_EQ(stores[1].misses, 1u);
  EXPECT_EQ(stores[1].hit_bytes, kUploadChunk);
}

// The disk has lost bytes of a file that was verified, and neither its size nor its time says so.
TEST_F(OfferedChunksTest, DamagedBytesAreAnErrorAndNotFoundAgain) {
  const auto chunk = random_chunk(1);
  keep(chunk);
  const Write write(client_);
  EXPECT_TRUE(write.offer(chunk));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const auto time = entry.last_write_time();
    std::fstream(entry.path(), std::ios::binary | std::ios::in | std::ios::out).seekp(5000).write("damaged", 7);
    std::filesystem::last_write_time(entry.path(), time);
  }
  write.leave_out();
  EXPECT_LT(client_.event_status(write.event), 0);
  const Write again(client_);
  EXPECT_FALSE(again.offer(chunk));
  client_.send_bulk(again.transfer, chunk);
  EXPECT_EQ(client_.event_status(again.event), CL_COMPLETE);
}

}  // namespace
}  // namespace remotecl::testing
