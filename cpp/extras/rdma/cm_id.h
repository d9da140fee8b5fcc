#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "extras/rdma/rdma_library.h"
#include "runtime/base/bytes.h"

namespace remotecl {

// An event of the connection manager. A value.
struct CmEvent {
  static constexpr std::size_t kDataMax = 56;  // the most that a request can carry, on InfiniBand

  rdma_cm_event_type type;
  int status;
  rdma_cm_id* id;  // of RDMA_CM_EVENT_CONNECT_REQUEST: a new identifier, which the receiver owns
  std::array<std::byte, kDataMax> data;
  std::size_t data_size;
};

// A communication identifier of librdmacm with its own event channel, the counterpart of a TCP socket. One
// thread at a time handles events.
class CmId {
 public:
  // Throws RdmaUnavailable if there is no device.
  explicit CmId(const RdmaLibrary& library);
  // Takes over the identifier of a connection request.
  CmId(const RdmaLibrary& library, rdma_cm_id* request);
  ~CmId();
  CmId(const CmId&) = delete;
  CmId& operator=(const CmId&) = delete;

  const RdmaLibrary& library() const { return library_; }
  rdma_cm_id* get() const { return id_; }
  // Of a connection: the port of this machine, like "mlx5_0:1", and the addresses of both ends.
  std::string port() const;
  std::string address() const;
  std::string peer_address() const;
  // Limits the time for which a device waits before it sends again, which the connection manager would make four times
  // as long. Call it before connecting or accepting. Without effect where the kernel does not know it.
  void limit_ack_time() const;
  int handle() const { return events_->fd; }  // readable when there is an event
  // Returns the next event without blocking.
  std::optional<CmEvent> next_event();
  // Waits for the next event, which must have this type. Throws ConnectionError, also once `stop`, if there is
  // one, is readable.
  CmEvent await(rdma_cm_event_type type, std::chrono::steady_clock::time_point deadline, int stop = -1);

 private:
  void make_channel();

  const RdmaLibrary& library_;
  rdma_event_channel* events_ = nullptr;
  rdma_cm_id* id_ = nullptr;
};

}  // namespace remotecl
