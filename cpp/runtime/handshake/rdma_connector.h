#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "runtime/handshake/rdma_request.h"
#include "runtime/transport/rdma/rdma_slot.h"

namespace remotecl {

// Makes the RDMA channels of one bulk stream, for the side that has connected: the first one when it is made,
// another one when that is lost. Its owner keeps it as long as the stream. One thread.
class RdmaConnector {
 public:
  // Does not wait, unless RDMA is required: then it throws ConnectionError if there is no channel.
  RdmaConnector(std::vector<Address> addresses, std::uint64_t ticket, const Secret& key,
                std::shared_ptr<RdmaSlot> slot);
  // Ends the slot.
  ~RdmaConnector();
  RdmaConnector(const RdmaConnector&) = delete;
  RdmaConnector& operator=(const RdmaConnector&) = delete;

 private:
  void run();
  bool try_to_connect();
  void connect();
  void dial(const Address& address);

  const std::vector<Address> addresses_;
  const std::uint64_t ticket_;
  const Secret key_;
  const std::shared_ptr<RdmaSlot> slot_;
  Wakeup stopped_;
  std::uint32_t number_ = 0;  // of the last attempt
  std::thread thread_;        // uses the other members
};

}  // namespace remotecl
