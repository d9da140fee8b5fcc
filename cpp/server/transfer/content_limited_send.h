#pragma once

#include "server/transfer/bulk_commands.h"

namespace remotecl::server {

// Sends to a peer or the client only those bytes of a buffer that its content-size buffer declares as
// meaningful. Reads both at once, the bytes up to the size of a message, so that little content costs one
// trip to the device.
struct ContentLimitedSend {
  static constexpr bool kLong = true;

  TransferTable* transfers;
  Region region;  // a range of a buffer
  Ref<Buffer> content_size;
  TransferId transfer;
  Ref<BulkRoute> route;

  cl_int issue(Issue& issue) REQUIRES(session_lock);
  void failed(cl_int error) { route->refuse(transfer, error); }

  // The number of meaningful bytes of the region, according to the content-size buffer's value.
  std::uint64_t meaningful(const std::byte* content) const;
};

}  // namespace remotecl::server
