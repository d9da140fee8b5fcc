#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "runtime/protocol/frames.h"
#include "runtime/transport/compression/block_codec.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// Receives compressed chunks from a connection. One thread, except for the counters.
//
// The chunk's last byte stays in the connection until all bytes are delivered, so that the connection's wait handle
// shows when there is something to do.
class ChunkUnpacker {
 public:
  enum class Wait { kNot, kForBytes };

  // If the header says that its chunk is compressed, begins with the chunk, and changes the header to that of an
  // ordinary one. Returns false if the header is invalid.
  bool begin(BulkHeader& header);
  // The chunk that has begun is not complete.
  bool is_reading() const { return size_ != 0; }
  // Reads some bytes of the chunk, at most as many as it has left. Returns their number, -1 if they have not arrived
  // (only if it does not wait), 0 at the end of the connection or if they are invalid.
  std::ptrdiff_t read(Connection& connection, MutableBytes to, Wait wait);
  // Takes what a delivered chunk has left in the connection; call it before the next header. Returns what read() does,
  // and 1 if there is nothing to take.
  std::ptrdiff_t finish(Connection& connection, Wait wait);

  const std::string& violation() const { return violation_; }
  // Any thread.
  std::uint64_t bytes_before() const { return before_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_after() const { return after_.load(std::memory_order_relaxed); }

 private:
  std::ptrdiff_t receive(Connection& connection, Wait wait);
  std::ptrdiff_t open(MutableBytes to);

  BlockDecompressor decompressor_;
  std::uint32_t size_ = 0;     // of the chunk before compression; 0: none is being read
  std::size_t delivered_ = 0;  // of that
  std::uint32_t packed_size_ = 0;
  std::size_t received_ = 0;  // of the chunk, with the frame that says its size
  bool is_open_ = false;      // bytes_ has what is not delivered
  bool is_end_due_ = false;   // the last byte of the former chunk has not been read
  std::array<std::byte, kPackedSizeSize> frame_{};
  std::vector<std::byte> packed_, bytes_;
  std::string violation_;
  std::atomic<std::uint64_t> before_{0}, after_{0};
};

}  // namespace remotecl
