#include "server/transfer/transfer_table.h"

#include "server/fixture.h"
#include "server/transfer/session_transfers.h"

namespace remotecl::testing {
namespace {

using namespace server;

// All its bytes have moved, and the driver is not done with them.
class MovedTransfer final : public Transfer {
 public:
  MovedTransfer(Queue& queue, cl_event end) : Transfer(1, queue, nullptr, 0, 0), end_(end) {}
  cl_int finish(Native<cl_event>& native) override {
    native = Native<cl_event>::retained(end_);
    return CL_SUCCESS;
  }

 private:
  const cl_event end_;
};

// Its end makes a command ready that the session has no memory for.
class OverLimitTransfer final : public Transfer {
 public:
  explicit OverLimitTransfer(Queue& queue) : Transfer(1, queue, nullptr, 0, 0) {}
  cl_int finish(Native<cl_event>&) override { throw HeldTooMuch("over the limit"); }
};

using TransferTableTest = ServerTest;

// The threads that move bytes have nobody who would catch it.
TEST_F(TransferTableTest, AnErrorWhileATransferEndsEndsTheSession) {
  SessionTransfers transfers;
  auto turns = make_ref<DeviceTurns>();
  auto queue = make_ref<Queue>(1, *server_.driver().device(0), 0, make_ref<BlockPool>(CompletionNotifier()),
                               turns->join(1, 1, {}, {}));
  EXPECT_NO_THROW(transfers.table.finish(*make_ref<OverLimitTransfer>(*queue)));
  EXPECT_EQ(transfers.strand->reason, "over the limit");
}

// A driver's callback must not be the one that releases a queue: it may not block.
TEST_F(TransferTableTest, WhatWaitsForTheDriverDoesNotKeepTheQueue) {
  SessionTransfers transfers;
  Device& device = *server_.driver().device(0);
  auto turns = make_ref<DeviceTurns>();
  auto queue = make_ref<Queue>(1, device, 0, make_ref<BlockPool>(CompletionNotifier()), turns->join(1, 1, {}, {}));
  const cl_command_queue native = queue->native();
  cl_int error = CL_SUCCESS;
  const cl_event end = clCreateUserEvent(device.context(error), &error);
  ASSERT_EQ(error, CL_SUCCESS);
  clRetainCommandQueue(native);
  {
    const auto transfer = make_ref<MovedTransfer>(*queue, end);
    queue = nullptr;
    transfers.table.finish(*transfer);
    transfers.strand->with_lock([&]() REQUIRES(session_lock) { transfers.execution.issuer.flush_queues(); });
  }
  cl_uint references = 0;
  clGetCommandQueueInfo(native, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, nullptr);
  EXPECT_EQ(references, 1u);
  clSetUserEventStatus(end, CL_COMPLETE);
  clReleaseEvent(end);
  clReleaseCommandQueue(native);
}

}  // namespace
}  // namespace remotecl::testing
