#include "runtime/handshake/bulk_upgrade.h"

#include <utility>

#include "runtime/handshake/handshake.h"
#include "runtime/handshake/rdma_acceptor.h"
#include "runtime/handshake/rdma_connector.h"
#include "runtime/transport/bulk/stream_bulk_transport.h"
#include "runtime/transport/compression/compression_mode.h"
#include "runtime/transport/passing_failure.h"
#include "runtime/transport/rdma/rdma_bulk_transport.h"
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
void add_rdma(StreamCarrier& carrier, Connection& connection, const Address& peer, const BulkEnd& end) {
  auto slot = std::make_shared<RdmaSlot>(end.rdma_report, end.rdma_hold);
  bool is_exchanged = false;
  if (end.side == BulkEnd::Side::kAccepts) {
    is_exchanged = connection.write(encode_frame<RdmaOffer, kRdmaOfferSize>(end.rdma->offer(end.rdma_key, slot)));
  } else {
    std::array<std::byte, kRdmaOfferSize> offer;
    is_exchanged = read_before(connection, offer, Patience::of_server(end.window));
    if (is_exchanged) {
      const auto decoded = decode_frame<RdmaOffer>(offer);
      std::vector<Address> addresses = addresses_of(decoded);
      if (end.may_dial) std::erase_if(addresses, [&end](const Address& each) { return !end.may_dial(each.host); });
      carrier.connector = std::make_shared<RdmaConnector>(std::move(addresses), decoded.ticket, end.rdma_key, slot);
    }
  }
  if (!is_exchanged) throw BrokenConnection("a connection for bulk data with " + peer.text() + " was lost", true);
  carrier.rdma = std::move(slot);
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
    if ((end.features & kFeatureRdma) != 0) add_rdma(carrier, *first, peer, end);
    carrier.connection = end.join(std::move(first));
  }
  carrier.may_compress =
      (end.features & kFeatureCompression) != 0 && carrier.memory == nullptr && carrier.rdma == nullptr;
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
  if (carrier.rdma != nullptr) {
    line.transport = std::make_unique<RdmaBulkTransport>(std::move(line.transport), std::move(carrier.rdma),
                                                         std::move(carrier.connector));
  }
  return line;
}

}  // namespace remotecl
