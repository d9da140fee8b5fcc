#pragma once

#include <mutex>
#include <vector>

#include "runtime/client/session/channel_session.h"

namespace remotecl::testing {

// Notes which transfers have ended, and how many had when waiting threads were woken last. Any thread may end
// transfers.
class FakeChannelSession final : public ChannelSession {
 public:
  TransferRef receiving;  // null: nothing is to be received
  std::vector<TransferId> ended;
  std::size_t woken_after = 0;

  TransferRef find_receive(TransferId) override { return receiving; }
  void end_transfer(const TransferRef& transfer, cl_int) override {
    const std::lock_guard lock(mutex_);
    ended.push_back(transfer->id);
  }
  bool await(const ClientTransfer&) override { return true; }
  bool await_reply(const ClientTransfer&) override { return true; }
  void offer(const OfferChunks&) override {}
  void found(std::uint64_t) override {}
  void wake() override {
    const std::lock_guard lock(mutex_);
    woken_after = ended.size();
  }
  void acknowledge(const ClientReceived&) override {}
  void stop_polling() override {}
  bool read_apart(BulkChannel&) override { return false; }
  bool has_one_channel() const override { return true; }
  bool begin_expecting() override { return false; }
  void end_expecting() override {}

 private:
  std::mutex mutex_;
};

}  // namespace remotecl::testing
