#pragma once

#include "server/transfer/bulk_commands.h"

namespace remotecl::server {

// Sends, to a peer or the client, only as many bytes of a buffer as another buffer says that mean anything. Both are
// read at once, the bytes as far as they fit a message: little content costs one trip to the device.
struct ContentLimitedSend {
  static constexpr bool kLong = true;

  TransferTable* transfers;
  Region region;  // a range of a buffer
  Ref<Buffer> content_size;
  TransferId transfer;
  Ref<BulkRoute> route;

  cl_int issue(Issue& issue);
  void failed(cl_int error) { route->refuse(transfer, error); }

  // How many bytes of the region mean anything, by what the content-size buffer holds.
  std::uint64_t meaningful(const std::byte* content) const;
};

}  // namespace remotecl::server
