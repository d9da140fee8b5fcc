#pragma once

#include "runtime/client/session/operations.h"
#include "runtime/client/session/peer_links.h"
#include "runtime/client/session/submitter.h"
#include "runtime/client/support/fetch_counts.h"

namespace remotecl {

// What the sessions of one client share. It must outlive them. The platform has one, which is never destroyed, like its
// sessions; each test makes its own.
struct SessionGroup {
  FetchCounts fetched;
  Operations operations;
  PeerLinks links;
  Submitter submitter;
};

}  // namespace remotecl
