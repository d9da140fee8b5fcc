#include "runtime/handshake/bulk_upgrade.h"

#include <utility>

#include "runtime/handshake/handshake.h"
#include "runtime/transport/bulk/stream_bulk_transport.h"
#include "runtime/transport/compression/compression_mode.h"
#include "runtime/transport/passing_failure.h"
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
  if (connection == nullptr && connects) {
    const ConnectionError silent = silent_server(peer, deadline, now);
    if (std::chrono::steady_clock::now() < deadline) throw BrokenConnection(silent.what(), true);
    throw silent;
  }
  if (connection == nullptr) {
    throw ConnectionError("a connection for bulk data from " + peer.text() +
                          " was lost, or nothing came through it, before memory could be shared");
  }
  connection->set_read_timeout(std::chrono::milliseconds(0));
  return connection;
}

// The accepting side says where it can be reached by RDMA. The connection goes on without waiting for that.
std::shared_ptr<OffloadedStream> add_rdma(Connection& connection, const Address& peer, const BulkEnd& end) {
  if (end.side == BulkEnd::Side::kAccepts) {
    RdmaOffer offer{};
    auto offloaded = end.rdma->offer(end, offer);
    if (connection.write(encode_frame<RdmaOffer, kRdmaOfferSize>(offer))) return offloaded;
  } else {
    std::array<std::byte, kRdmaOfferSize> offer;
    if (read_before(connection, offer, Patience::of_server(end.window))) {
      return bulk_offload()->connect(decode_frame<RdmaOffer>(offer), end);
    }
  }
  throw BrokenConnection("a connection for bulk data with " + peer.text() + " was lost", true);
}

// Where no RDMA is beside the stream.
RdmaState state_without_rdma(const BulkEnd& end, bool shares_memory) {
  if (end.rdma_wish.is_wanted() && shares_memory) return RdmaState::unavailable(rdma_reason::kSharedMemory);
  return end.rdma_wish.is_wanted() ? RdmaState::unavailable(rdma_reason::kNotOffered) : end.rdma_wish;
}

}  // namespace

StreamCarrier upgrade_bulk(std::unique_ptr<Connection> first, const Address& peer, const BulkEnd& end) {
  StreamCarrier carrier;
  carrier.is_resumable = (end.features & kFeatureResumable) != 0;
  const Connection* const stream = first.get();
  if ((end.features & kFeatureSharedMemory) != 0) first = share_memory(std::move(first), peer, end);
  carrier.rdma_state = state_without_rdma(end, first.get() != stream);
  carrier.kind = first->kind();
  if (first.get() != stream) {
    carrier.memory = static_cast<SharedMemoryConnection*>(first.get());
    carrier.connection = std::move(first);
  } else {
    if ((end.features & kFeatureRdma) != 0) carrier.offloaded = add_rdma(*first, peer, end);
    carrier.connection = end.join(std::move(first));
  }
  carrier.may_compress =
      (end.features & kFeatureCompression) != 0 && carrier.memory == nullptr && carrier.offloaded == nullptr;
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
  const CompressionMode compression = carrier.may_compress ? compression_mode() : CompressionMode::kOff;
  line.transport = std::make_unique<StreamBulkTransport>(std::move(carrier.connection), std::move(carrier.rdma_state),
                                                         compression, carrier.kind);
  if (carrier.offloaded != nullptr) line.transport = carrier.offloaded->beside(std::move(line.transport));
  return line;
}

}  // namespace remotecl
