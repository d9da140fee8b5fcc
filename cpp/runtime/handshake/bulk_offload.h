#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"
#include "runtime/transport/bulk/bulk_transport.h"

namespace remotecl {

struct BulkEnd;

// Moves the bytes of one bulk stream past its connection, which stays beside it. Any thread.
class OffloadedStream {
 public:
  virtual ~OffloadedStream() = default;
  // Call it once, as soon as the stream is in use. Does not wait. Throws ConnectionError if the offload is required and
  // cannot begin.
  virtual void start() {}
  // The transport of the stream, which owns `stream`. Once.
  virtual std::unique_ptr<BulkTransport> beside(std::unique_ptr<BulkTransport> stream) = 0;
};

// The side that accepts, for all streams of a process. Any thread.
class BulkOffloadAcceptor {
 public:
  virtual ~BulkOffloadAcceptor() = default;
  virtual const std::string& host() const = 0;
  // Accepts nothing more, and waits until nothing is being accepted.
  virtual void stop() = 0;
  // Where it listens. Empty while it cannot, and then `cause` says why.
  virtual std::vector<Address> addresses(std::string* cause = nullptr) = 0;
  // Fills `offer`, which the other side needs to reach the stream.
  virtual std::shared_ptr<OffloadedStream> offer(const BulkEnd& end, RdmaOffer& offer) = 0;
};

// The door to what moves bulk data without the processor: RDMA, which is an extra.
class BulkOffload {
 public:
  virtual ~BulkOffload() = default;
  virtual bool has_device() const = 0;
  // Call it before the process loses the right to ask the system for addresses.
  virtual void prepare_for_containment() = 0;
  // `host`: a number, or a name; an unspecified address includes all.
  virtual std::unique_ptr<BulkOffloadAcceptor> accept_at(std::string host) = 0;
  // The side that connects. Throws ConnectionError if the offload is required and the offer leads nowhere.
  virtual std::shared_ptr<OffloadedStream> connect(const RdmaOffer& offer, const BulkEnd& end) = 0;
};

// Call it before the first connection. The offload must outlive the process's connections.
void use_bulk_offload(BulkOffload& offload);
// Null: this build has none.
BulkOffload* bulk_offload();

}  // namespace remotecl
