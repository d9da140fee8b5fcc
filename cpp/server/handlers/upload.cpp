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

// Opens files, and may read them, so it must not hold up the session.
void look_up(Outbox& outbox, IncomingTransfer& transfer, std::uint64_t offset, Bytes digests) {
  std::vector<std::byte> found;
  for (std::size_t at = 0; at < digests.size(); at += sizeof(Digest)) {
    Digest digest;
    std::memcpy(digest.data(), digests.data() + at, sizeof digest);
    const std::uint64_t begin = offset + found.size() * kUploadChunk;
    const std::uint64_t size = std::min<std::uint64_t>(kUploadChunk, transfer.size() - begin);
    found.push_back(std::byte(transfer.offered()->look_up(begin, digest, size)));
  }
  transfer.offered()->answered(found.size());
  outbox.send(ChunksFound{transfer.id(), offset, transfer.offered()->is_kept() ? 1u : 0u, found});
}

}  // namespace

void handle(Session& session, const OfferChunks& message) {
  Ref<IncomingTransfer> transfer = session.channels().find_pulled(message.transfer);
  if (!transfer)
    throw ProtocolError("chunks of transfer " + std::to_string(message.transfer) + ", which was not pulled");
  if (transfer->offered() == nullptr) {
    transfer->set_offered(std::make_unique<OfferedChunks>(
        session.shared().uploads, "direct " + session.grant().user().name(), session.counters()));
  }
  if (message.digests.size() % sizeof(Digest) != 0) throw ProtocolError("an offer has a part of a digest");
  auto digests = std::make_shared<HeldPayload>(session.counters(), message.digests);
  // The transfer owns what waits, so it keeps itself only once that has begun.
  auto begin = [&session, kept = transfer.get(), offset = message.offset, digests = std::move(digests)] {
    session.transfers().post([&session, transfer = Ref<IncomingTransfer>(kept), offset, digests] {
      look_up(session.outbox(), *transfer, offset, digests->bytes());
    });
  };
  transfer->offered()->announce(message.offset, message.digests.size() / sizeof(Digest), transfer->size(),
                                std::move(begin));
}

}  // namespace remotecl::server
