#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/handshake/rdma_request.h"
#include "runtime/handshake/reconnector.h"
#include "runtime/transport/rdma/rdma_slot.h"

namespace remotecl {

// Makes the RDMA channels of one bulk stream, for the side that has connected, and moves the control stream beside it
// to one. When a channel is lost, it makes another. Its owner keeps it as long as the bulk stream. One thread.
class RdmaConnector {
 public:
  // If RDMA is required, waits for the first channel, and throws ConnectionError if there is none.
  RdmaConnector(std::vector<Address> addresses, std::uint64_t ticket, const Secret& key,
                std::shared_ptr<RdmaSlot> slot);
  // Ends the slot.
  ~RdmaConnector();
  RdmaConnector(const RdmaConnector&) = delete;
  RdmaConnector& operator=(const RdmaConnector&) = delete;

  // The control stream, and the reconnector that resumes it. Both outlive this; null: there is none.
  struct Control {
    Reconnector* reconnector;
    ResumableConnection* stream;
  };
  // Once. Does not wait. Throws ConnectionError if RDMA is required and no thread can be started.
  void start(const Control& control = {nullptr, nullptr});

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool rest(std::chrono::milliseconds pause);
  enum class Outcome { kConnected, kFailed, kImpossible };
  Outcome try_to_connect();
  void connect();
  void look_after_control();
  Reconnector::Onward move_control(std::uint64_t received);
  struct Dialed {
    std::shared_ptr<RdmaChannel> channel;
    RdmaReplyWords reply;
  };
  Dialed dial(RdmaPurpose purpose, std::uint64_t received = 0);
  Dialed dial(const Address& address, const RdmaRequestWords& words);

  const std::vector<Address> addresses_;
  const std::uint64_t ticket_;
  const Secret key_;
  const std::shared_ptr<RdmaSlot> slot_;
  Wakeup stopped_;
  Control control_{};
  std::weak_ptr<RdmaChannel> control_channel_;
  bool has_moved_ = false;                   // the control stream, to that channel
  Clock::time_point moved_at_;               // when the control stream was last moved, or a move failed
  std::chrono::milliseconds move_pause_{0};  // before it is moved again
  std::uint32_t number_ = 0;                 // of the last attempt
  std::thread thread_;                       // uses the other members
};

}  // namespace remotecl
