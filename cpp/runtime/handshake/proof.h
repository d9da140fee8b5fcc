#pragma once

#include "runtime/protocol/frames.h"

namespace remotecl {

// What both sides of a handshake have said: what a proof in it is good for.
struct Transcript {
  Role role;
  std::uint64_t offered;  // features of the Hello
  std::uint64_t taken;    // of the Welcome; 0 while they are not known
  std::uint64_t session;
  std::uint64_t epoch;
  Secret client_nonce;  // both nonces are 0 on connections of a session: its secret is not used for anything else
  Secret server_nonce;
  REMOTECL_FIELDS(role, offered, taken, session, epoch, client_nonce, server_nonce)
};

// Who proves, or what else a key is asked for: no answer can be passed off as another one.
enum class Claim : std::uint32_t { kConnecting = 1, kAccepting = 2, kSessionSecret = 3, kStripes = 4 };

// What only somebody who has the key can say. Throws std::bad_alloc.
Proof prove(Bytes key, Claim claim, const Transcript& transcript);
// Its first half: where 16 bytes have to do.
Secret prove_briefly(Bytes key, Claim claim, const Transcript& transcript);

// The first proof of a process takes 0.6 ms longer than others. This is where that goes while something else is
// awaited.
void prepare_proofs();

}  // namespace remotecl
