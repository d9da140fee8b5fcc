#pragma once

#include <array>
#include <memory>

#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/bulk/chunk_packer.h"
#include "runtime/transport/bulk/chunk_unpacker.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// Sends headers and chunks one after the other as bytes of a connection.
class StreamBulkTransport final : public BulkTransport {
 public:
  // `rdma`: why there is none. `compression`: kOff where the other side does not know it. `kind`: what carries the
  // connection.
  explicit StreamBulkTransport(std::shared_ptr<Connection> connection, RdmaState rdma = {},
                               CompressionMode compression = CompressionMode::kOff,
                               TransportKind kind = TransportKind::kTcp);

  bool send(const BulkHeader& header, const BulkSource& bytes, Use use) override;
  std::size_t chunk_size() const override;
  bool keeps_borrowed() const override { return connection_->keeps_borrowed(); }
  std::uint64_t bytes_sent() const override { return connection_->bytes_sent(); }
  std::uint64_t completed() const override { return connection_->completed(); }
  void reclaim(std::uint64_t position) override { connection_->reclaim(position); }
  TransportKind sent_by() const override { return kind_; }
  Connection::Delivered delivered() const override { return connection_->delivered(); }

  bool receive_header(BulkHeader& header) override;
  bool receive(const BulkDestination& to) override;
  std::ptrdiff_t try_receive_header(BulkHeader& header) override;
  std::ptrdiff_t try_receive(const BulkDestination& to) override;
  std::ptrdiff_t try_discard(std::size_t size) override;
  void await_briefly() override { connection_->await_briefly(); }
  void report_received() override { connection_->report_received(); }
  int wait_handle() const override { return connection_->wait_handle(); }
  std::uint64_t bytes_received() const override { return connection_->bytes_received(); }
  TransportKind received_by() const override { return kind_; }
  RdmaState rdma() const override { return rdma_; }
  CompressionCounts compression() const override;

  void shutdown() override { connection_->shutdown(); }
  bool vanished() const override { return connection_->vanished(); }
  std::size_t streams() const override { return connection_->streams(); }
  const std::string& violation() const override;

 private:
  // A chunk leaves a thin link in this time, unless it would cost too much.
  static constexpr double kChunkSeconds = 0.02;
  static constexpr std::size_t kChunkMin = 128u << 10;

  bool begin_chunk(BulkHeader& header);
  std::ptrdiff_t read_packed(MutableBytes to, ChunkUnpacker::Wait wait);

  const std::shared_ptr<Connection> connection_;
  const RdmaState rdma_;
  const TransportKind kind_;
  // Null where nothing is compressed.
  const std::unique_ptr<ChunkPacker> packer_;
  const std::unique_ptr<ChunkUnpacker> unpacker_;
  // Used by the receiving thread: the header being received, and how many of its bytes have arrived.
  std::array<std::byte, kBulkHeaderSize> header_;
  std::size_t header_have_ = 0;
};

}  // namespace remotecl
