#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/base/bytes.h"
#include "runtime/client/support/rows.h"
#include "runtime/protocol/sizes.h"

namespace remotecl {

// Packs rows piece by piece for a transport, which may read a piece again after it has been sent. A few pieces
// are in memory at a time, whatever the size of all rows. One thread.
class RowPacker {
 public:
  // Rows at `memory`. Returns null if there is no memory for the pieces.
  static std::unique_ptr<RowPacker> make(const Rows& rows, const std::byte* memory);

  MutableBytes pieces() const { return {pieces_.get(), size_}; }
  // The position up to which the transport has to give back bytes before next() may be called.
  std::uint64_t borrowed_until() const { return borrowed_until_[next_]; }
  // Packs the next piece, which begins with the packed rows' byte `offset`.
  Bytes next(std::uint64_t offset);
  Bytes next_blank(std::uint64_t offset);  // zeros in its place
  // The transport may read that piece again, up to this position.
  void note_borrowed(std::uint64_t until);

 private:
  MutableBytes piece_at(std::uint64_t offset) const;

  static constexpr std::size_t kPieces = kStagingSlots;
  static constexpr std::size_t kPieceSize = kStagingSlot;

  RowPacker(const Rows& rows, const std::byte* memory, std::unique_ptr<std::byte[]> pieces, std::size_t size)
      : rows_(rows), memory_(memory), pieces_(std::move(pieces)), size_(size) {}

  const Rows rows_;
  const std::byte* const memory_;
  const std::unique_ptr<std::byte[]> pieces_;
  const std::size_t size_;
  std::size_t next_ = 0;
  std::uint64_t borrowed_until_[kPieces] = {};
};

}  // namespace remotecl
