#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "extras/rdma/rdma_request.h"
#include "extras/rdma/rdma_slot.h"

namespace remotecl {

// Makes the RDMA channels of one bulk stream, for the side that has connected. When a channel is lost, it makes
// another. Its owner keeps it as long as the bulk stream. One thread.
class RdmaConnector {
 public:
  // If RDMA is required, waits for the first channel, and throws ConnectionError if there is none.
  RdmaConnector(std::vector<Address> addresses, std::uint64_t ticket, const Secret& key,
                std::shared_ptr<RdmaSlot> slot);
  // Ends the slot.
  ~RdmaConnector();
  RdmaConnector(const RdmaConnector&) = delete;
  RdmaConnector& operator=(const RdmaConnector&) = delete;

  // Once. Does not wait. Throws ConnectionError if RDMA is required and no thread can be started.
  void start();

 private:
  void run();
  enum class Outcome { kConnected, kFailed, kImpossible };
  Outcome try_to_connect();
  void connect();
  std::shared_ptr<RdmaChannel> dial(const Address& address, const RdmaRequestWords& words);

  const std::vector<Address> addresses_;
  const std::uint64_t ticket_;
  const Secret key_;
  const std::shared_ptr<RdmaSlot> slot_;
  Wakeup stopped_;
  std::uint32_t number_ = 0;  // of the last attempt
  std::thread thread_;        // uses the other members
};

}  // namespace remotecl
