#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/crypto/digest.h"
#include "server/handlers/handlers.h"
#include "server/peer/borrowed_chunks.h"
#include "server/transfer/held_payload.h"
#include "server/transfer/offered_chunks.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

using Clock = std::chrono::steady_clock;

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

// How long the client would take for these bytes. If it does not know its own speed, the time is short.
Deadline deadline_of(const ChunkLoan& loan, std::uint64_t size) {
  using std::chrono::microseconds;
  constexpr microseconds kUnknown{2'000'000}, kMost{10'000'000};
  const auto now = Clock::now();
  if (loan.bytes_per_s == 0) return now + kUnknown;
  return now + std::min(microseconds(size * 1'000'000 / loan.bytes_per_s), kMost);
}

// Trusts a peer's bytes only if they have the digest that the client has sent. All peers share the time that the client
// would take, so that the waits for silent peers do not add up.
void borrow(Session& session, Offer& offer, const ChunkLoan& loan) {
  // How long to wait for a link that is being made; after that, the client's own bytes come sooner.
  constexpr std::chrono::milliseconds kLinkMax{200};
  std::optional<Deadline> deadline;
  for (const PeerId lender : loan.lenders) {
    std::vector<std::size_t> missing;
    std::vector<Digest> wanted;
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < offer.digests.size(); ++i) {
      if (offer.found[i] != std::byte{}) continue;
      missing.push_back(i);
      wanted.push_back(offer.digests[i]);
      size += offer.size(i);
    }
    if (!deadline) deadline = deadline_of(loan, size);
    if (missing.empty() || Clock::now() >= *deadline) return;
    const Ref<PeerLink> link = session.peers().await(lender, std::min(Clock::now() + kLinkMax, *deadline));
    if (!link || link->borrowing_speed().is_below(loan.bytes_per_s)) continue;
    borrow_chunks(*link, loan.number, wanted, *deadline, [&](std::size_t index, Bytes bytes) {
      const std::size_t chunk = missing[index];
      if (bytes.size() != offer.size(chunk) || sha256(bytes) != wanted[index]) return;
      offer.transfer.offered()->keep(wanted[index], bytes);
      offer.look_up(chunk);
    });
  }
}

// Opens files, and may read them or wait for a peer, so it must not hold up the session.
void look_up(Session& session, Offer offer, const ChunkLoan& loan) {
  for (std::size_t i = 0; i < offer.digests.size(); ++i) offer.look_up(i);
  OfferedChunks& offered = *offer.transfer.offered();
  if (loan.number != 0 && offered.is_kept()) borrow(session, offer, loan);
  offered.answered(offer.found.size());
  session.outbox().send(ChunksFound{offer.transfer.id(), offer.offset, offered.is_kept() ? 1u : 0u, offer.found});
}

Ref<IncomingTransfer> offered_transfer(Session& session, TransferId id) REQUIRES(session_lock) {
  Ref<IncomingTransfer> transfer = session.channels().find_pulled(id);
  if (!transfer) throw ProtocolError("chunks of transfer " + std::to_string(id) + ", which was not pulled");
  if (transfer->offered() == nullptr) {
    transfer->set_offered(
        std::make_unique<OfferedChunks>(session.shared().uploads, session.stored_owner(), session.counters()));
  }
  return transfer;
}

}  // namespace

void handle(Session& session, const OfferChunks& message) {
  const Ref<IncomingTransfer> transfer = offered_transfer(session, message.transfer);
  if (message.digests.size() % sizeof(Digest) != 0) throw ProtocolError("an offer has a part of a digest");
  auto digests = std::make_shared<HeldPayload>(session.counters(), message.digests);
  auto loan = std::make_shared<const ChunkLoan>(transfer->offered()->take_loan());
  // The transfer owns a waiting look-up, so the look-up takes a reference to the transfer only when it begins.
  auto begin = [&session, kept = transfer.get(), offset = message.offset, digests = std::move(digests),
                loan = std::move(loan)] {
    session.transfers().post([&session, transfer = Ref<IncomingTransfer>(kept), offset, digests, loan] {
      look_up(session, {*transfer, offset, digests_of(digests->bytes())}, *loan);
    });
  };
  transfer->offered()->announce(message.offset, message.digests.size() / sizeof(Digest), transfer->size(),
                                std::move(begin));
}

void handle(Session& session, const LendChunks& message) {
  check_peer(message.to);
  session.lent_chunks().lend(message.loan, message.to, message.digests);
}

void handle(Session& session, const BorrowChunks& message) {
  const Ref<IncomingTransfer> transfer = offered_transfer(session, message.transfer);
  if (message.lenders.size() > kLendersMax) throw ProtocolError("too many servers may have chunks of an offer");
  ChunkLoan loan{message.loan, message.bytes_per_s, {}};
  for (std::size_t i = 0; i < message.lenders.size(); ++i) {
    check_peer(message.lenders[i]);
    loan.lenders.push_back(message.lenders[i]);
  }
  transfer->offered()->set_loan(std::move(loan));
}

}  // namespace remotecl::server
