#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "extras/rdma/rdma_listener.h"
#include "extras/rdma/rdma_request.h"
#include "extras/rdma/rdma_slot.h"
#include "runtime/base/mutex.h"
#include "runtime/handshake/bulk_offload.h"

namespace remotecl {

// The accepting side of all RDMA channels of a process. Listens from the first offer on, at the RDMA ports'
// addresses that its own address includes, with a thread for each. Owned by the daemon. Any thread.
class RdmaAcceptor final : public BulkOffloadAcceptor {
 public:
  // `host`: a number, or a name; an unspecified address includes all.
  explicit RdmaAcceptor(std::string host) : host_(std::move(host)) {}
  ~RdmaAcceptor() override { end(); }
  RdmaAcceptor(const RdmaAcceptor&) = delete;
  RdmaAcceptor& operator=(const RdmaAcceptor&) = delete;

  const std::string& host() const override { return host_; }
  void stop() override EXCLUDES(mutex_) { end(); }
  // Where it listens; listens now if it does not yet. Empty where there is no RDMA, and then `cause` says why: ports
  // may become active later, so it tries again every ten seconds in which it is asked.
  std::vector<Address> addresses(std::string* cause = nullptr) override EXCLUDES(mutex_);
  std::shared_ptr<OffloadedStream> offer(const BulkEnd& end, RdmaOffer& offer) override EXCLUDES(mutex_);
  // What the other side needs to put channels into the slot, as long as that exists.
  RdmaOffer offer(const Secret& key, const std::shared_ptr<RdmaSlot>& slot) EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kListensEvery{10};  // while it listens nowhere

  struct Stream {
    Secret key;
    std::weak_ptr<RdmaSlot> slot;
  };

  void end() EXCLUDES(mutex_);
  void listen() REQUIRES(mutex_);
  void run(RdmaListener& listener) EXCLUDES(mutex_);
  void forget(const RdmaListener& listener) EXCLUDES(mutex_);
  void reply(RdmaRequest& request) EXCLUDES(mutex_);

  const std::string host_;
  Mutex mutex_;
  Clock::time_point listens_again_ GUARDED_BY(mutex_){};
  std::string cause_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Stream> streams_ GUARDED_BY(mutex_);  // by ticket
  std::vector<std::unique_ptr<RdmaListener>> listeners_ GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
