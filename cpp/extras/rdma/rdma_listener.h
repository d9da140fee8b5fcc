#pragma once

#include <memory>

#include "extras/rdma/rdma_channel.h"
#include "runtime/transport/address.h"

namespace remotecl {

// A connection request, which is refused when this object is destroyed. One thread.
class RdmaRequest {
 public:
  RdmaRequest(const RdmaLibrary& library, const CmEvent& event);
  ~RdmaRequest();
  RdmaRequest(const RdmaRequest&) = delete;
  RdmaRequest& operator=(const RdmaRequest&) = delete;

  // Returns true if it comes from a peer of this version.
  bool is_understood() const { return is_understood_; }
  Bytes hello() const { return {data_.data() + sizeof(rdma::Preamble), hello_size_}; }
  Address peer() const;
  // The channel may be used at once. Throws ConnectionError.
  std::unique_ptr<RdmaChannel> accept(Bytes reply);

 private:
  std::shared_ptr<CmId> id_;
  std::array<std::byte, CmEvent::kDataMax> data_;
  std::size_t hello_size_ = 0;
  bool is_understood_ = false;
  bool is_accepted_ = false;
};

// Listens for connections over RDMA. One thread accepts; any thread stops.
class RdmaListener {
 public:
  // Port 0: any. Throws RdmaUnavailable, or ConnectionError if the address cannot be used.
  explicit RdmaListener(const Address& address);

  Address address() const;
  // Waits for the next request of a peer of this version; null after stop(). Throws ConnectionError for a
  // failed one, RdmaUnavailable if the device has gone.
  std::unique_ptr<RdmaRequest> next();
  void stop() { stopped_.set(); }

 private:
  CmId id_;
  Wakeup stopped_;
};

}  // namespace remotecl
