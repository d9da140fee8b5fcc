#include "runtime/client/session/row_packer.h"

#include <algorithm>
#include <new>

namespace remotecl {

std::unique_ptr<RowPacker> RowPacker::make(const Rows& rows, const std::byte* memory) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(rows.size(), kPieces * kPieceSize));
  std::unique_ptr<std::byte[]> pieces(new (std::nothrow) std::byte[size]);
  if (pieces == nullptr) return nullptr;
  return std::unique_ptr<RowPacker>(new RowPacker(rows, memory, std::move(pieces), size));
}

MutableBytes RowPacker::piece_at(std::uint64_t offset) const {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(rows_.size() - offset, kPieceSize));
  return pieces().subspan(next_ * kPieceSize, size);
}

Bytes RowPacker::next_blank(std::uint64_t offset) {
  const MutableBytes piece = piece_at(offset);
  std::fill(piece.begin(), piece.end(), std::byte{});
  return piece;
}

Bytes RowPacker::next(std::uint64_t offset) {
  const MutableBytes piece = piece_at(offset);
  rows_.pack(memory_, offset, piece);
  return piece;
}

void RowPacker::note_borrowed(std::uint64_t until) {
  borrowed_until_[next_] = until;
  next_ = (next_ + 1) % kPieces;
}

}  // namespace remotecl
