#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

class HeldPayload;
class Issuer;

// The bytes of a small transfer from a peer, for the command that writes them.
struct IncomingBytes {
  EventId awaited = 0;      // the graph's event that ends when the bytes have arrived; 0: they have
  std::int32_t status = 0;  // the result of the transfer
  std::shared_ptr<HeldPayload> bytes;
  std::uint64_t announced = 0;  // instead of bytes: how many can be pulled
};

// Small transfers of one link whose bytes or whose commands have not arrived yet. Needs the session's lock.
class PeerInbox {
 public:
  PeerInbox(Issuer& issuer, const Ref<SessionCounters>& counters);

  // Returns the transfer that a command waits for.
  std::shared_ptr<IncomingBytes> await(TransferId transfer);
  // The command will not come.
  void discard(TransferId transfer);
  // Returns true if a command waits for this transfer.
  bool awaits(TransferId transfer) const;
  void arrived(TransferId transfer, std::int32_t status, Bytes data);
  void announced(TransferId transfer, std::uint64_t size);
  // Nothing more will arrive.
  void fail_all(std::int32_t status);
  // Like fail_all() at the end of the session, when no command waits any more: kept bytes would keep it alive.
  void clear();

 private:
  std::shared_ptr<IncomingBytes> take_entry(TransferId transfer);
  void wake(IncomingBytes& incoming);
  // Counts the memory for transfers that only one side has mentioned. Throws HeldTooMuch.
  void count_unmatched();

  Issuer& issuer_;
  const Ref<SessionCounters> counters_;
  std::unordered_map<TransferId, std::shared_ptr<IncomingBytes>> awaited_;
  std::unordered_map<TransferId, std::shared_ptr<IncomingBytes>> early_;
  std::unordered_set<TransferId> discarded_;
  HeldMemory held_;  // for early_ and discarded_, without their bytes
};

}  // namespace remotecl::server
