#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/execution/queue.h"
#include "server/transfer/bulk_channel.h"

namespace remotecl::server {

// A session's bulk channels. This side limits their number. Owned by the session; any thread.
class BulkChannels {
 public:
  // `transfers` and `recovery` outlive the channels' threads.
  BulkChannels(TransferTable& transfers, StreamRecovery& recovery, unsigned count_max);

  // The client wants this many; called once. One is in use from the start.
  void use(unsigned wanted);
  // How many are in use.
  unsigned count() const { return count_.load(std::memory_order_acquire); }
  // Null if no channel with this number is in use.
  BulkChannel* find(unsigned number) const;
  // The channel for the queue's device.
  BulkChannel& of(const Queue& queue) const;

  // See BulkReceiver.
  Ref<IncomingTransfer> find_pulled(TransferId id) const;
  // From now on, a channel's stream ends when its connection breaks.
  void end_when_broken() const;
  // How long a lost connection waits for the other end to return.
  void set_window(std::chrono::milliseconds window) const;
  Traffic traffic() const;
  RdmaState rdma() const;
  // The session ends: stops all data and waits for the threads.
  void close() const EXCLUDES(session_lock);
  // Drops the transfers that have not arrived. Call it after close().
  void drop_transfers() const REQUIRES(session_lock);

 private:
  std::vector<Ref<BulkChannel>> channels_;  // as many as this side allows
  std::atomic<unsigned> count_{1};
};

}  // namespace remotecl::server
