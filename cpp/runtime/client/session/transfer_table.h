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
#include "runtime/client/session/link_meter.h"
#include "runtime/client/session/loss_state.h"
#include "runtime/client/session/operations.h"
#include "runtime/client/upload/upload_link.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// The transfers of one session that have not ended. Any thread.
class TransferTable {
 public:
  TransferTable(BulkChannels& channels, const LossState& loss) : channels_(channels), loss_(loss) {}

  // Adds a transfer, before the command that names it is sent. `device`: the index of the device of the
  // command's queue. The memory stays valid as long as `keep_alive`. `rows`: how the bytes lie there, unless
  // without gaps. If the session is lost, the transfer fails at once.
  TransferRef begin_receive(std::uint32_t device, std::byte* to, std::uint64_t size,
                            std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive,
                            const std::optional<Rows>& rows = {});
  TransferRef begin_send(std::uint32_t device, const std::byte* from, std::uint64_t size,
                         std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive, bool sender_waits,
                         const std::optional<Rows>& rows = {});
  // Whether so many bytes can be sent right after the command that names them, which saves the round trip of a pull.
  // If so, has taken room for them at the server; call begin_push() then.
  bool take_push(std::uint32_t device, std::uint64_t size, bool blocking);
  // Like begin_send(), for these bytes. The caller sends them, or posts them to the channel's sender, once it has sent
  // the command.
  TransferRef begin_push(std::uint32_t device, const std::byte* from, std::uint64_t size,
                         std::function<void(cl_int)> finished, bool blocking, bool sender_waits);

  const UploadLink& uploads() const { return uploads_; }
  // As measured; 0: not yet.
  double bytes_per_s(LinkMeter::Way way) const;

  // Also null for a transfer in the other direction: the server must not read what it may write, or the
  // reverse.
  TransferRef find(TransferId id, bool sends) EXCLUDES(mutex_);
  // The same where its bytes begin to move, or go on.
  TransferRef find_moving(TransferId id, bool sends) EXCLUDES(mutex_);
  std::vector<TransferRef> all() const EXCLUDES(mutex_);
  // Lists the transfers that have begun and are large enough to be observed. `where`: the server's address.
  void list(std::vector<Operation>& list, const std::string& where) const EXCLUDES(mutex_);

  void end(const TransferRef& transfer, cl_int status) EXCLUDES(mutex_);
  // The command that named the transfer has failed: nothing will be transferred.
  void fail(TransferId id, cl_int status) EXCLUDES(mutex_);

  // Bytes at `memory` that the server has not requested yet are sent from a copy. Returns the other transfers that
  // send bytes from there.
  std::vector<TransferRef> copy_pending(const std::byte* memory, std::uint64_t size) EXCLUDES(mutex_);

  // The server requests the bytes.
  void pull(TransferId id);
  // The server says which offered chunks it has. Returns false if that is impossible.
  bool take_reply(const ChunksFound& report);
  // The server reports the size of a read, or sends its bytes. Return false if the size is impossible.
  bool set_size(TransferId id, std::uint64_t size);
  bool take_bytes(TransferId id, Bytes bytes);

 private:
  TransferRef begin(std::uint32_t device, TransferRef transfer, std::function<void(cl_int)> finished,
                    std::shared_ptr<void> keep_alive) EXCLUDES(mutex_);
  TransferRef find(TransferId id) EXCLUDES(mutex_);
  TransferRef find_locked(TransferId id, bool sends) const REQUIRES(mutex_);

  BulkChannels& channels_;
  const LossState& loss_;
  UploadLink uploads_;
  LinkMeter link_;
  mutable Mutex mutex_;
  std::unordered_map<TransferId, TransferRef> transfers_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
