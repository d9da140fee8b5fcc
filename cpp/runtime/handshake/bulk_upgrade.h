#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/stream/resumable_connection.h"

namespace remotecl {

class SharedMemoryConnection;

// What carries a stream of a session, or of a link, when all handshakes are over.
struct StreamCarrier {
  std::shared_ptr<Connection> connection;
  SharedMemoryConnection* memory = nullptr;  // what it is or goes through, if it is that
  bool is_resumable = false;                 // another connection may carry the stream on
};

// What the side that calls upgrade_bulk() brings.
struct BulkEnd {
  enum class Side { kConnects, kAccepts };
  // Gathers the further connections of the stream, if it is to have any. May throw ConnectionError.
  using Join = std::function<std::shared_ptr<Connection>(std::unique_ptr<Connection> first)>;

  Side side;
  std::uint64_t features;            // what both sides have agreed on
  std::chrono::milliseconds window;  // how long a lost connection is tried again
  Join join;
};

// Makes a connection for bulk data, whose welcome has been said, the fastest that both sides have agreed on: memory
// that they share, or several connections; else it stays as it is. Both sides call this. Throws ConnectionError, which
// names `peer`, when the connection is lost meanwhile or the other side does not behave.
StreamCarrier upgrade_bulk(std::unique_ptr<Connection> first, const Address& peer, const BulkEnd& end);

// How a stream of bulk data survives the loss of its connection.
struct BulkRecovery {
  std::chrono::milliseconds window;
  ResumableConnection::Hooks hooks;
  bool writers_wait = false;  // as ResumableConnection::make_writers_wait()
  // Makes what carries the doorbell of memory, of the connection that has been one so far. Empty: that itself.
  std::function<std::shared_ptr<Connection>(std::unique_ptr<Connection>)> share = {};
};

// A carrier of bulk data, in use.
struct BulkLine {
  std::unique_ptr<BulkTransport> transport;
  // What another connection may carry on; null: nothing. The transport owns it.
  ResumableConnection* stream = nullptr;
  bool is_doorbell = false;  // that is the doorbell of shared memory, not what the bytes go over
};

BulkLine open_bulk(StreamCarrier carrier, BulkRecovery recovery);

}  // namespace remotecl
