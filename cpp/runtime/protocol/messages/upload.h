#pragma once

#include "runtime/protocol/messages/message.h"

// Bytes of writes that the server may have already.
namespace remotecl {

struct OfferChunks {
  REMOTECL_MESSAGE(OfferChunks);
  TransferId transfer;
  std::uint64_t offset;  // of the first chunk, in the transfer
  Bytes digests;         // SHA-256 of each chunk
  REMOTECL_FIELDS(transfer, offset, digests)
};
struct ChunksFound {
  REMOTECL_MESSAGE(ChunksFound);
  TransferId transfer;
  std::uint64_t offset;
  std::uint32_t keeps;  // 0: this server keeps no uploads, so offers are of no use
  Bytes found;          // for each of the chunks 1 if its bytes need not come, else 0
  REMOTECL_FIELDS(transfer, offset, keeps, found)
};

}  // namespace remotecl
