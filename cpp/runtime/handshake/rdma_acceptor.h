#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/handshake/rdma_request.h"
#include "runtime/transport/rdma/rdma_listener.h"
#include "runtime/transport/rdma/rdma_slot.h"

namespace remotecl {

// The accepting side of all RDMA channels of a process. Listens from the first offer on, at the RDMA ports'
// addresses that its own address includes, with a thread for each. Owned by the daemon. Any thread.
class RdmaAcceptor {
 public:
  // `host`: a number, or a name; an unspecified address includes all.
  explicit RdmaAcceptor(std::string host) : host_(std::move(host)) {}
  ~RdmaAcceptor();
  RdmaAcceptor(const RdmaAcceptor&) = delete;
  RdmaAcceptor& operator=(const RdmaAcceptor&) = delete;

  // Where it listens; listens now if it does not yet. Empty where there is no RDMA, and then `cause` says why.
  std::vector<Address> addresses(std::string* cause = nullptr) EXCLUDES(mutex_);
  // What the other side needs to put channels into the slot, as long as that exists.
  RdmaOffer offer(const Secret& key, const std::shared_ptr<RdmaSlot>& slot) EXCLUDES(mutex_);

 private:
  struct Stream {
    Secret key;
    std::weak_ptr<RdmaSlot> slot;
  };

  void listen() REQUIRES(mutex_);
  void run(RdmaListener& listener) EXCLUDES(mutex_);
  void answer(RdmaRequest& request) EXCLUDES(mutex_);

  const std::string host_;
  Mutex mutex_;
  bool has_listened_ GUARDED_BY(mutex_) = false;
  std::string cause_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Stream> streams_ GUARDED_BY(mutex_);  // by ticket
  std::vector<std::unique_ptr<RdmaListener>> listeners_ GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
