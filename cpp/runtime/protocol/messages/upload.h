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
// Lets a peer have these chunks of this user, if they are in this server's store: the peer asks for them by AskChunk.
struct LendChunks {
  REMOTECL_MESSAGE(LendChunks);
  std::uint64_t loan;  // grows
  PeerId to;
  Bytes digests;
  REMOTECL_FIELDS(loan, to, digests)
};
// The server may ask these peers for chunks of the next offer of this transfer that it does not find, unless theirs
// come slower than the client's bytes.
struct BorrowChunks {
  REMOTECL_MESSAGE(BorrowChunks);
  TransferId transfer;
  std::uint64_t loan;
  std::uint64_t bytes_per_s;  // of the client; 0: it does not know
  Array<PeerId> lenders;
  REMOTECL_FIELDS(transfer, loan, bytes_per_s, lenders)
};

}  // namespace remotecl
