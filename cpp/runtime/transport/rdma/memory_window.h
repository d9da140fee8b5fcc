#pragma once

#include <cstdint>
#include <memory>

#include "runtime/transport/rdma/queue_pair.h"

namespace remotecl {

// The destination of one transfer: what the peer may write into, and only while it is open. A memory window where the
// device has them; else a region that is registered for this one transfer. Not thread-safe: a channel's mutex guards
// it.
class MemoryWindow {
 public:
  MemoryWindow() = default;
  // Of a queue pair that is gone.
  ~MemoryWindow();
  MemoryWindow(const MemoryWindow&) = delete;
  MemoryWindow& operator=(const MemoryWindow&) = delete;

  // Posts at most one request, which is done before whatever is posted later. `size` is not 0. False when that is not
  // possible; throws ConnectionError where the memory cannot be registered.
  bool open(QueuePair& pair, const std::shared_ptr<const ProtectionDomain>& domain, std::uint64_t transfer,
            MutableBytes memory, const RegisteredMemory& registration);
  // As well. The window can be used again, and its memory is the owner's, when is_closing() is false.
  bool close(QueuePair& pair);
  // The queue pair has failed: the registration may go from now on.
  void abandon();
  bool is_closing(const QueuePair& pair) const { return closed_at_ > pair.completed(); }
  bool is_open() const { return is_open_; }
  bool is_free(const QueuePair& pair) const { return !is_open_ && !is_closing(pair); }

  std::uint64_t transfer() const { return transfer_; }
  std::uint32_t key() const { return key_; }
  // What has not been written yet.
  MutableBytes rest() const { return memory_.subspan(written_); }
  // The peer has written; false when it cannot have.
  bool note_written(std::size_t size);

 private:
  std::shared_ptr<const ProtectionDomain> domain_;
  ibv_mw* window_ = nullptr;
  std::unique_ptr<RegisteredMemory> region_;
  std::uint32_t key_ = 0;
  std::uint64_t transfer_ = 0;
  MutableBytes memory_;
  std::size_t written_ = 0;
  std::uint64_t closed_at_ = 0;  // the number of the request that closes it
  bool is_open_ = false;
};

}  // namespace remotecl
