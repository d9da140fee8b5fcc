#pragma once

#include <atomic>
#include <vector>

#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/compression/block_codec.h"
#include "runtime/transport/compression/compression_policy.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// Sends chunks over a connection, and compresses those for which that pays. One thread at a time.
class ChunkPacker {
 public:
  explicit ChunkPacker(CompressionMode mode) : policy_(mode) {}

  // As BulkTransport::send(). May divide the chunk, except that of a pushed write.
  bool send(Connection& connection, const BulkHeader& header, const BulkSource& source, BulkTransport::Use use);
  // Any thread.
  std::uint64_t bytes_before() const { return before_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_after() const { return after_.load(std::memory_order_relaxed); }

  // The size compressed at once: the compressor's ratio is that of larger pieces, and the link waits little for it.
  static constexpr std::size_t kPiece = 256u << 10;

 private:
  bool send_piece(Connection& connection, const BulkHeader& header, const BulkSource& source, BulkTransport::Use use);
  void take_sample(const BulkSource& source);
  Bytes compress(const BulkSource& source);
  bool send_packed(Connection& connection, const BulkHeader& header, Bytes packed);
  bool send_plain(Connection& connection, const BulkHeader& header, const BulkSource& source, BulkTransport::Use use);

  CompressionPolicy policy_;
  BlockCompressor compressor_;
  // The compressor's input, which must not change under it, whatever the application does with its memory.
  std::vector<std::byte> stable_;
  std::atomic<std::uint64_t> before_{0}, after_{0};
};

}  // namespace remotecl
