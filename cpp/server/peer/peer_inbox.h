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
struct IncomingPeer {
  EventId awaited = 0;      // the graph's event that ends when the bytes are here; 0: they are here
  std::int32_t status = 0;  // what the transfer has ended with
  std::shared_ptr<HeldPayload> bytes;
  std::uint64_t announced = 0;  // instead of bytes: how many can be pulled
};

// Small transfers of one link whose bytes or whose commands are not here yet. Needs the session's lock.
class PeerInbox {
 public:
  PeerInbox(Issuer& issuer, const Ref<SessionCounters>& counters);

  // What a command waits for.
  std::shared_ptr<IncomingPeer> await(TransferId transfer);
  // The command will not come.
  void discard(TransferId transfer);
  // True when a command waits for this transfer.
  bool awaits(TransferId transfer) const;
  void arrived(TransferId transfer, std::int32_t status, Bytes data);
  void announced(TransferId transfer, std::uint64_t size);
  // Nothing will arrive any more.
  void fail_all(std::int32_t status);
  // The same when nobody waits any more: the session ends, and the bytes that are kept here keep it.
  void clear();

 private:
  std::shared_ptr<IncomingPeer> arrival_of(TransferId transfer);
  void wake(IncomingPeer& arrival);
  // What only one side has spoken of. Throws HeldTooMuch.
  void count_unmatched();

  Issuer& issuer_;
  const Ref<SessionCounters> counters_;
  std::unordered_map<TransferId, std::shared_ptr<IncomingPeer>> awaited_;
  std::unordered_map<TransferId, std::shared_ptr<IncomingPeer>> early_;
  std::unordered_set<TransferId> discarded_;
  HeldMemory held_;  // by early_ and discarded_; their bytes not included
};

}  // namespace remotecl::server
