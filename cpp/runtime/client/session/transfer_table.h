#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/session/bulk_channels.h"
#include "runtime/client/session/client_transfer.h"
#include "runtime/client/session/loss_state.h"
#include "runtime/client/session/operations.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// The transfers of one session that have not ended. Any thread.
class TransferTable {
 public:
  TransferTable(BulkChannels& channels, const LossState& loss) : channels_(channels), loss_(loss) {}

  // Adds a transfer, before the command that names it is sent. `device`: the index of that of the command's queue. The
  // memory stays valid as long as `keep_alive`. When the session is lost the transfer has failed at once.
  TransferRef begin_receive(std::uint32_t device, std::byte* to, std::uint64_t size,
                            std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive);
  TransferRef begin_send(std::uint32_t device, const std::byte* from, std::uint64_t size,
                         std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive, bool sender_waits);
  // The same for bytes that are sent as soon as the command that names them is, by the calling thread if it waits:
  // saves the round trip of a pull. Null when the server would have to keep too much.
  TransferRef begin_push(std::uint32_t device, const std::byte* from, std::uint64_t size, bool sender_waits);

  // Null for one of the other direction too: the server must not read what it may write, or the reverse.
  TransferRef find(TransferId id, bool sends) EXCLUDES(mutex_);
  std::vector<TransferRef> all() const EXCLUDES(mutex_);
  // Those that have begun and are large enough to be looked at. `where`: the server's address.
  void list(std::vector<Operation>& list, const std::string& where) const EXCLUDES(mutex_);

  void end(const TransferRef& transfer, cl_int status) EXCLUDES(mutex_);
  // A command that named the transfer failed: nothing will move.
  void fail(TransferId id, cl_int status) EXCLUDES(mutex_);

  // The server asks for the bytes.
  void pull(TransferId id);
  // The server says how many bytes of a read come, or sends them. False when they cannot be so many.
  bool set_size(TransferId id, std::uint64_t size);
  bool take_bytes(TransferId id, Bytes bytes);

 private:
  TransferRef begin(std::uint32_t device, TransferRef transfer, std::function<void(cl_int)> finished,
                    std::shared_ptr<void> keep_alive) EXCLUDES(mutex_);
  TransferRef find(TransferId id) EXCLUDES(mutex_);

  BulkChannels& channels_;
  const LossState& loss_;
  mutable Mutex mutex_;
  std::unordered_map<TransferId, TransferRef> transfers_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
