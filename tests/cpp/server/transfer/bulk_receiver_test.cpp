// What the sender learns of bytes that have been received.
#include <string>
#include <vector>

#include "fakes/idle_bulk_transport.h"
#include "server/fixture.h"
#include "server/transfer/bulk.h"
#include "server/transfer/session_transfers.h"

namespace remotecl::testing {
namespace {

using namespace server;

constexpr std::uint32_t kSize = 100u << 10;

class NotedWrite final : public IncomingTransfer {
 public:
  NotedWrite(Queue& queue, std::vector<std::string>& notes)
      : IncomingTransfer(1, queue, nullptr, 0, kSize), notes_(notes) {}
  bool receive(BulkInput&, std::uint32_t, StagingSet&) override { return true; }
  cl_int finish(Native<cl_event>&) override {
    notes_.emplace_back("finished");
    return CL_SUCCESS;
  }

 private:
  void put(std::shared_ptr<std::byte[]>) override {}

  std::vector<std::string>& notes_;
};

// One chunk comes, and then the end.
class OneChunkTransport final : public IdleBulkTransport {
 public:
  explicit OneChunkTransport(std::vector<std::string>& notes) : notes_(notes) {}
  bool receive_header(BulkHeader& header) override {
    header = {1, kSize, 0};
    return !std::exchange(has_come_, true);
  }
  void report_received() override { notes_.emplace_back("acknowledged"); }

 private:
  std::vector<std::string>& notes_;
  bool has_come_ = false;
};

using BulkReceiverTest = ServerTest;

// The application frees the memory when the write has ended. Until the acknowledgement comes, the client may copy it.
TEST_F(BulkReceiverTest, BytesAreAcknowledgedBeforeTheWriteCanEnd) {
  SessionTransfers transfers;
  const auto queue =
      make_ref<Queue>(1, *server_.driver().device(0), 0, make_ref<BlockPool>(CompletionNotifier()), nullptr);
  std::vector<std::string> notes;
  OneChunkTransport transport(notes);
  BulkReceiver receiver(transfers.table, transfers.outbox, BulkReceiver::Pushes::kRefused);
  receiver.connect(transport);
  ASSERT_TRUE(receiver.pull(make_ref<NotedWrite>(*queue, notes)));
  receiver.run(transport);
  EXPECT_EQ(notes, (std::vector<std::string>{"acknowledged", "finished"}));
}

}  // namespace
}  // namespace remotecl::testing
