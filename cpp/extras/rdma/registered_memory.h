#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "extras/rdma/cm_id.h"
#include "runtime/base/bytes.h"
#include "runtime/transport/bulk/bulk_transport.h"

namespace remotecl {

// The scope of one connection's keys: keys of other connections open no memory in it. Shared by the memory
// registered in it. Any thread.
class ProtectionDomain {
 public:
  // Of a device that the identifier is bound to. Throws ConnectionError.
  explicit ProtectionDomain(std::shared_ptr<CmId> id);
  ~ProtectionDomain() { library().verbs.dealloc_pd(domain_); }
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;

  const RdmaLibrary& library() const { return id_->library(); }
  const std::shared_ptr<CmId>& id() const { return id_; }
  ibv_pd* get() const { return domain_; }
  // Returns true if the device has memory windows of type 2, which open and close without a system call.
  // Those of Soft-RoCE (Linux 6.1) do not count: they let the peer write into all of the memory registered
  // around a window.
  bool has_windows() const { return has_windows_; }
  // For tests: from now on all windows count.
  static void count_all_windows();
  // System calls for the sake of this connection. What a device with a driver in user space does without one counts
  // too.
  void note_system_call() const { system_calls_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t system_calls() const { return system_calls_.load(std::memory_order_relaxed); }

 private:
  const std::shared_ptr<CmId> id_;
  ibv_pd* domain_;
  bool has_windows_;
  mutable std::atomic<std::uint64_t> system_calls_{0};
};

// Memory that the device may read and write by itself: its pages are locked as long as this lives. By itself it lets no
// peer in (MemoryWindow does). Whoever made the memory owns this, and destroys it first. Any thread.
class RegisteredMemory final : public MemoryRegistration {
 public:
  // Throws ConnectionError, which names the remedy if the limit of locked memory is the cause.
  RegisteredMemory(std::shared_ptr<const ProtectionDomain> domain, MutableBytes memory, bool is_open_to_peer = false);
  ~RegisteredMemory() override;
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  ibv_mr* get() const { return region_; }
  std::uint32_t local_key() const { return region_->lkey; }
  std::uint32_t remote_key() const { return region_->rkey; }
  bool contains(Bytes bytes) const;

 private:
  const std::shared_ptr<const ProtectionDomain> domain_;
  const MutableBytes memory_;
  ibv_mr* region_;
};

// Pages of the transport's own, registered.
class OwnMemory {
 public:
  OwnMemory(std::shared_ptr<const ProtectionDomain> domain, std::size_t size);

  MutableBytes bytes() const { return {pages_.get(), size_}; }
  const RegisteredMemory& registration() const { return registration_; }

 private:
  struct Free {
    void operator()(std::byte* pages) const { std::free(pages); }
  };

  const std::size_t size_;
  const std::unique_ptr<std::byte, Free> pages_;
  const RegisteredMemory registration_;
};

}  // namespace remotecl
