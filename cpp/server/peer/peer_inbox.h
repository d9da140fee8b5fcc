#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"
#include "server/quota/held_memory.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

class HeldPayload;
class Issuer;

// The bytes of a small transfer from a peer, for the command that writes them.
struct IncomingBytes {
  // The graph's event that ends when the bytes have arrived; 0: they have.
  EventId awaited GUARDED_BY(session_lock) = 0;
  std::int32_t status GUARDED_BY(session_lock) = 0;  // the result of the transfer
  std::shared_ptr<HeldPayload> bytes GUARDED_BY(session_lock);
  std::uint64_t announced GUARDED_BY(session_lock) = 0;  // instead of bytes: how many can be pulled
};

// Small transfers of one link whose bytes or whose commands have not arrived yet.
class PeerInbox {
 public:
  PeerInbox(Issuer& issuer, const Ref<SessionCounters>& counters);

  // Returns the transfer that a command waits for.
  std::shared_ptr<IncomingBytes> await(TransferId transfer) REQUIRES(session_lock);
  // The command will not come.
  void discard(TransferId transfer) REQUIRES(session_lock);
  // Returns true if a command waits for this transfer.
  bool awaits(TransferId transfer) const REQUIRES(session_lock);
  void arrived(TransferId transfer, std::int32_t status, Bytes data) REQUIRES(session_lock);
  void announced(TransferId transfer, std::uint64_t size) REQUIRES(session_lock);
  // Nothing more will arrive.
  void fail_all(std::int32_t status) REQUIRES(session_lock);
  // Like fail_all() at the end of the session, when no command waits any more: kept bytes would keep it alive.
  void clear() REQUIRES(session_lock);

 private:
  std::shared_ptr<IncomingBytes> take_entry(TransferId transfer) REQUIRES(session_lock);
  void wake(IncomingBytes& incoming) REQUIRES(session_lock);
  // Counts the memory for transfers that only one side has mentioned. Throws HeldTooMuch.
  void count_unmatched() REQUIRES(session_lock);

  Issuer& issuer_;
  const Ref<SessionCounters> counters_;
  std::unordered_map<TransferId, std::shared_ptr<IncomingBytes>> awaited_ GUARDED_BY(session_lock);
  std::unordered_map<TransferId, std::shared_ptr<IncomingBytes>> early_ GUARDED_BY(session_lock);
  std::unordered_set<TransferId> discarded_ GUARDED_BY(session_lock);
  HeldMemory held_ GUARDED_BY(session_lock);  // for early_ and discarded_, without their bytes
};

}  // namespace remotecl::server
