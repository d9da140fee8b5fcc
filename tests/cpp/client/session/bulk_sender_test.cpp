#include "runtime/client/session/bulk_sender.h"

#include <gtest/gtest.h>

#include <vector>

#include "client/session/fake_channel_session.h"
#include "fakes/idle_bulk_transport.h"

namespace remotecl::testing {
namespace {

// Calls a function where it would copy what it has borrowed.
class FakeTransport final : public IdleBulkTransport {
 public:
  std::uint64_t received = 0;
  std::function<void(std::uint64_t position)> copying;

  bool send(const BulkHeader&, const BulkSource& bytes, Use) override {
    sent_ += bytes.bytes.size();
    return true;
  }
  std::uint64_t bytes_sent() const override { return sent_; }
  std::uint64_t completed() const override { return received; }
  void reclaim(std::uint64_t position) override { copying(position); }

 private:
  std::uint64_t sent_ = 0;
};

// The end of a transfer gives its memory back to the application, or frees its packed rows.
TEST(BulkSenderTest, NoTransferEndsWhileWhatItHasLentMayBeCopied) {
  FakeChannelSession session;
  FakeTransport transport;
  BulkSender sender(session);
  sender.use(transport);
  std::vector<std::byte> memory(16u << 20);

  const auto first = std::make_shared<Transfer>();
  first->id = 1;
  first->size = 1000;
  first->memory = memory.data();
  ASSERT_TRUE(sender.send(first));

  const auto rows = std::make_shared<Transfer>();  // more than is packed at a time
  rows->id = 2;
  rows->rows = Rows{{1000, 12'000, 1}, 1024, 0};
  rows->size = 12'000'000;
  rows->memory = memory.data();
  bool has_copied = false;
  transport.copying = [&](std::uint64_t position) {
    has_copied = true;
    const std::vector<TransferId> before = session.ended;
    transport.received = position;  // the other side's report, which another thread reads
    sender.end_received();
    EXPECT_EQ(session.ended, before);
  };
  ASSERT_TRUE(sender.send(rows));
  EXPECT_TRUE(has_copied);
  EXPECT_EQ(session.ended, std::vector<TransferId>{1});
  transport.received = transport.bytes_sent();
  sender.end_received();
  EXPECT_EQ(session.ended, (std::vector<TransferId>{1, 2}));
  sender.release();
}

}  // namespace
}  // namespace remotecl::testing
