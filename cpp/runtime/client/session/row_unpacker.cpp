#include "runtime/client/session/row_unpacker.h"

#include <new>

namespace remotecl {

bool RowUnpacker::begin(std::uint64_t size) {
  at_ = 0;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, kPieceSize));
  if (wanted <= size_) return true;
  piece_.reset(new (std::nothrow) std::byte[wanted]);
  size_ = piece_ != nullptr ? wanted : 0;
  return piece_ != nullptr;
}

// The transport may already have written the bytes after these, so the piece is used up to its end.
void RowUnpacker::unpack(const ClientTransfer& transfer, std::size_t count) {
  transfer.rows->unpack(Bytes(piece()).subspan(at_, count), transfer.memory, transfer.moved);
  at_ += count;
  if (at_ == size_) at_ = 0;
}

}  // namespace remotecl
