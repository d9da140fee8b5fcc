#pragma once

#include "runtime/protocol/messages.h"
#include "server/issuer.h"
#include "server/region.h"

namespace remotecl::server {

// Commands whose bytes travel on the bulk connection.
struct BulkReadCommand {
  static constexpr bool kLong = true;

  Session* session;
  Region region;
  TransferId transfer;

  void keep(Session&) {}
  cl_int issue(Issue& issue);
};

struct BulkWriteCommand {
  static constexpr bool kLong = true;

  Session* session;
  Region region;
  TransferId transfer;

  void keep(Session&) {}
  cl_int issue(Issue& issue);
};

}  // namespace remotecl::server
