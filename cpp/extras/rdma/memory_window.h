#pragma once

#include <cstdint>
#include <memory>

#include "extras/rdma/queue_pair.h"

namespace remotecl {

// The destination of one transfer, which the peer may write to only while it is open. Uses a memory window if
// the device has them, else a region that is registered for this one transfer. Not thread-safe: a channel's
// mutex guards it.
class MemoryWindow {
 public:
  MemoryWindow() = default;
  // Destroy it after its queue pair.
  ~MemoryWindow();
  MemoryWindow(const MemoryWindow&) = delete;
  MemoryWindow& operator=(const MemoryWindow&) = delete;

  // Posts at most one request, which is executed before all later ones. `size` is not 0. Returns false if
  // that is impossible. Throws ConnectionError if the memory cannot be registered.
  bool open(QueuePair& pair, const std::shared_ptr<const ProtectionDomain>& domain, std::uint64_t transfer,
            MutableBytes memory, const RegisteredMemory& registration);
  // Posts in the same way. Once is_closing() is false, the window can be used again and its memory belongs to
  // the owner.
  bool close(QueuePair& pair);
  // The queue pair has failed: the registration may be released from now on.
  void abandon();
  bool is_closing(const QueuePair& pair) const { return closed_at_ > pair.completed(); }
  bool is_open() const { return is_open_; }
  bool is_free(const QueuePair& pair) const { return !is_open_ && !is_closing(pair); }

  std::uint64_t transfer() const { return transfer_; }
  std::uint32_t key() const { return key_; }
  // The part that has not been written yet.
  MutableBytes rest() const { return memory_.subspan(written_); }
  // The peer has written. Returns false if that is impossible.
  bool note_written(std::size_t size);

 private:
  std::shared_ptr<const ProtectionDomain> domain_;
  ibv_mw* window_ = nullptr;
  std::unique_ptr<RegisteredMemory> region_;
  std::uint32_t key_ = 0;
  std::uint64_t transfer_ = 0;
  MutableBytes memory_;
  std::size_t written_ = 0;
  std::uint64_t closed_at_ = 0;  // the number of the closing request
  bool is_open_ = false;
};

}  // namespace remotecl
