#include "runtime/handshake/bulk_upgrade.h"

#include <utility>

#include "runtime/handshake/handshake.h"
#include "runtime/transport/bulk/stream_bulk_transport.h"
#include "runtime/transport/shm/shared_memory.h"
#include "runtime/transport/shm/shared_memory_connection.h"

namespace remotecl {
namespace {

std::unique_ptr<Connection> share_memory(std::unique_ptr<Connection> connection, const Address& peer,
                                         const BulkEnd& end) {
  const auto now = std::chrono::steady_clock::now();
  // The peer has proved its identity, so at worst it is slow.
  const Deadline deadline = Patience::of_server(end.window);
  connection->set_read_timeout(std::chrono::ceil<std::chrono::milliseconds>(deadline - now));
  const bool connects = end.side == BulkEnd::Side::kConnects;
  connection = connects ? shared_memory::offer(std::move(connection)) : shared_memory::accept(std::move(connection));
  if (connection == nullptr && connects) throw silent_server(peer, deadline, now);
  if (connection == nullptr) {
    throw ConnectionError("a connection for bulk data from " + peer.text() +
                          " was lost, or nothing came through it, before memory could be shared");
  }
  connection->set_read_timeout(std::chrono::milliseconds(0));
  return connection;
}

}  // namespace

StreamCarrier upgrade_bulk(std::unique_ptr<Connection> first, const Address& peer, const BulkEnd& end) {
  StreamCarrier carrier;
  carrier.is_resumable = (end.features & kFeatureResumable) != 0;
  const Connection* const stream = first.get();
  if ((end.features & kFeatureSharedMemory) != 0) first = share_memory(std::move(first), peer, end);
  if (first.get() != stream) {
    carrier.memory = static_cast<SharedMemoryConnection*>(first.get());
    carrier.connection = std::move(first);
  } else {
    carrier.connection = end.join(std::move(first));
  }
  return carrier;
}

// The contents of shared memory remain while the connection next to it is replaced.
BulkLine open_bulk(StreamCarrier carrier, BulkRecovery recovery) {
  BulkLine line;
  if (carrier.is_resumable && carrier.memory != nullptr) {
    line.stream = &carrier.memory->keep_doorbell(recovery.window, std::move(recovery.hooks), recovery.share);
    line.is_doorbell = true;
  } else if (carrier.is_resumable) {
    auto made = std::make_shared<ResumableConnection>(std::move(carrier.connection), recovery.window,
                                                      std::move(recovery.hooks));
    if (recovery.writers_wait) made->make_writers_wait();
    line.stream = made.get();
    carrier.connection = std::move(made);
  }
  line.transport = std::make_unique<StreamBulkTransport>(std::move(carrier.connection));
  return line;
}

}  // namespace remotecl
