#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/base/bytes.h"
#include "runtime/client/session/client_transfer.h"
#include "runtime/protocol/sizes.h"

namespace remotecl {

// A piece of memory through which received bytes pass that belong into rows with gaps. One thread.
class RowUnpacker {
 public:
  // A chunk of this size comes. Returns false if there is no memory for the piece.
  bool begin(std::uint64_t size);
  MutableBytes piece() const { return {piece_.get(), size_}; }
  // Where the next bytes of the chunk go, of which `left` are missing.
  MutableBytes next(std::uint64_t left) const {
    return piece().subspan(at_, static_cast<std::size_t>(std::min<std::uint64_t>(left, size_ - at_)));
  }
  // So many have arrived there, and continue what the transfer has moved.
  void unpack(const ClientTransfer& transfer, std::size_t count);
  void release() {
    piece_.reset();
    size_ = 0;
  }

 private:
  static constexpr std::size_t kPieceSize = kStagingSlot;

  std::unique_ptr<std::byte[]> piece_;
  std::size_t size_ = 0;
  std::size_t at_ = 0;
};

}  // namespace remotecl
