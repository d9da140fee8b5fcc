#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "runtime/handshake/bulk_offload.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/bulk/rdma_state.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/stream/resumable_connection.h"

namespace remotecl {

class SharedMemoryConnection;

// The carrier of a stream of a session or link once all handshakes are complete.
struct StreamCarrier {
  std::shared_ptr<Connection> connection;
  SharedMemoryConnection* memory = nullptr;      // the shared memory, if `connection` goes through it
  bool is_resumable = false;                     // a new connection can resume the stream
  std::shared_ptr<OffloadedStream> offloaded{};  // null: no RDMA beside the connection; to be started
  RdmaState rdma_state{};                        // why there is none
  TransportKind kind = TransportKind::kTcp;      // of `connection`
  bool may_compress = false;                     // both sides know how, and the bytes go through the connection
};

// The arguments of upgrade_bulk() that differ between the two sides.
struct BulkEnd {
  enum class Side { kConnects, kAccepts };
  // Adds the further connections of the stream, if there are any. May throw ConnectionError.
  using Join = std::function<std::shared_ptr<Connection>(std::unique_ptr<Connection> first)>;

  Side side;
  std::uint64_t features;            // those that both sides have agreed on
  std::chrono::milliseconds window;  // how long a lost connection is retried
  Join join;
  Secret rdma_key;                      // of the stream, as returned by rdma_key()
  BulkOffloadAcceptor* rdma = nullptr;  // of the side that accepts, if kFeatureRdma is agreed on
  // Whether the side that connects may do so by RDMA to this host; empty: to all.
  std::function<bool(const std::string& host)> may_dial = {};
  // The wish of this side, or why it has none.
  RdmaState rdma_wish = {};
  // Called with the new state when RDMA has come or was lost, or will not come, on the thread that has noticed.
  std::function<void(const RdmaState&)> rdma_report = {};
  // Counts bytes of memory that is locked for the stream, as long as the result lives. Null if they would be too many.
  // Empty: nothing bounds them.
  std::function<std::shared_ptr<const void>(std::uint64_t bytes)> rdma_hold = {};
};

// Turns a bulk connection, after its Welcome, into the fastest carrier that both sides have agreed on: shared
// memory, several connections, or the connection itself. Both sides call this. Throws ConnectionError, which
// names `peer`, if the connection is lost or the peer breaks the rules.
StreamCarrier upgrade_bulk(std::unique_ptr<Connection> first, const Address& peer, const BulkEnd& end);

// How a bulk stream survives the loss of its connection.
struct BulkRecovery {
  std::chrono::milliseconds window;
  ResumableConnection::Hooks hooks;
  bool writers_wait = false;  // as ResumableConnection::make_writers_wait()
  // Creates the doorbell's carrier from the present connection; empty: that connection itself.
  std::function<std::shared_ptr<Connection>(std::unique_ptr<Connection>)> share = {};
};

// An open carrier of bulk data.
struct BulkLine {
  std::unique_ptr<BulkTransport> transport;
  // The stream that a new connection can resume, or null. Owned by the transport.
  ResumableConnection* stream = nullptr;
  bool is_doorbell = false;  // the stream is the doorbell of shared memory, not the carrier of the bytes
};

BulkLine open_bulk(StreamCarrier carrier, BulkRecovery recovery);

}  // namespace remotecl
