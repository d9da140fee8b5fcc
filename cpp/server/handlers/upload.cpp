#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/crypto/digest.h"
#include "server/handlers/handlers.h"
#include "server/transfer/held_payload.h"
#include "server/transfer/offered_chunks.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// The chunks of one offer, from `offset` on.
struct Offer {
  IncomingTransfer& transfer;
  std::uint64_t offset;
  std::vector<Digest> digests;
  std::vector<std::byte> found = std::vector<std::byte>(digests.size());  // for each chunk 1 if it is here

  std::uint64_t begin(std::size_t chunk) const { return offset + chunk * kUploadChunk; }
  std::uint64_t size(std::size_t chunk) const {
    return std::min<std::uint64_t>(kUploadChunk, transfer.size() - begin(chunk));
  }
  void look_up(std::size_t chunk) {
    found[chunk] = std::byte(transfer.offered()->look_up(begin(chunk), digests[chunk], size(chunk)));
  }
};

std::vector<Digest> digests_of(Bytes bytes) {
  std::vector<Digest> digests(bytes.size() / sizeof(Digest));
  std::memcpy(digests.data(), bytes.data(), digests.size() * sizeof(Digest));
  return digests;
}

// Opens files, and may read them, so it must not hold up the session.
void look_up(Session& session, Offer offer) {
  for (std::size_t i = 0; i < offer.digests.size(); ++i) offer.look_up(i);
  OfferedChunks& offered = *offer.transfer.offered();
  offered.answered(offer.found.size());
  session.outbox().send(ChunksFound{offer.transfer.id(), offer.offset, offered.is_kept() ? 1u : 0u, offer.found});
}

}  // namespace

void handle(Session& session, const OfferChunks& message) {
  const Ref<IncomingTransfer> transfer = session.channels().find_pulled(message.transfer);
  if (!transfer) return;  // all bytes have overtaken their offer, on another connection
  if (transfer->offered() == nullptr) {
    transfer->set_offered(
        std::make_unique<OfferedChunks>(session.shared().uploads, session.stored_owner(), session.counters()));
  }
  if (message.digests.size() % sizeof(Digest) != 0) throw ProtocolError("an offer has a part of a digest");
  auto digests = std::make_shared<HeldPayload>(session.counters(), message.digests);
  // The transfer owns a waiting look-up, so the look-up takes a reference to the transfer only when it begins.
  auto begin = [&session, kept = transfer.get(), offset = message.offset, digests = std::move(digests)] {
    session.transfers().post([&session, transfer = Ref<IncomingTransfer>(kept), offset, digests] {
      look_up(session, {*transfer, offset, digests_of(digests->bytes())});
    });
  };
  transfer->offered()->announce(message.offset, message.digests.size() / sizeof(Digest), transfer->size(),
                                std::move(begin));
}

}  // namespace remotecl::server
