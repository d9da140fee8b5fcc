#pragma once

#include "runtime/protocol/frames.h"

namespace remotecl {

// The transcript: the bytes that both sides of a handshake have sent. A proof is valid only for its transcript.
struct Transcript {
  Role role;
  std::uint64_t offered;  // features of the Hello
  std::uint64_t taken;    // features of the Welcome; 0 while unknown
  std::uint64_t session;
  std::uint64_t epoch;
  Secret client_nonce;  // both nonces are 0 on connections of a session, whose secret is used for nothing else
  Secret server_nonce;
  REMOTECL_FIELDS(role, offered, taken, session, epoch, client_nonce, server_nonce)
};

// The side that proves, or the other purpose of a derivation from the key, so that no result can pass for another.
enum class Claim : std::uint32_t { kConnecting = 1, kAccepting = 2, kSessionSecret = 3, kStripes = 4, kRdma = 5 };

// A value that only a holder of the key can compute. Throws std::bad_alloc.
Proof prove(Bytes key, Claim claim, const Transcript& transcript);
// Its first half, for fields of 16 bytes.
Secret prove_briefly(Bytes key, Claim claim, const Transcript& transcript);

// Does the one-time work of a process's first proof (0.6 ms), so that it can overlap with a wait.
void prepare_proofs();

}  // namespace remotecl
