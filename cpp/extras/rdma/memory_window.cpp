#include "extras/rdma/memory_window.h"

#include <cerrno>

namespace remotecl {

MemoryWindow::~MemoryWindow() { abandon(); }

void MemoryWindow::abandon() {
  if (window_ != nullptr) ::ibv_dealloc_mw(window_);
  window_ = nullptr;
  closed_at_ = 0;
  region_.reset();
}

bool MemoryWindow::open(QueuePair& pair, const std::shared_ptr<const ProtectionDomain>& domain, std::uint64_t transfer,
                        MutableBytes memory, const RegisteredMemory& registration) {
  domain_ = domain;
  if (domain->has_windows()) {
    if (window_ == nullptr) {
      window_ = ::ibv_alloc_mw(domain->get(), IBV_MW_TYPE_2);
      if (window_ == nullptr) throw ConnectionError("RDMA: no memory window: " + error_text(errno));
      key_ = window_->rkey;
    }
    // A new key each time, so that a key that the peer has kept opens nothing.
    key_ = ::ibv_inc_rkey(key_);
    if (!pair.bind(window_, key_, registration, memory)) return false;
    window_->rkey = key_;  // the library leaves this to its user, and reads it in the next bind
  } else {
    region_ = std::make_unique<RegisteredMemory>(domain, memory, true);
    key_ = region_->remote_key();
  }
  transfer_ = transfer;
  memory_ = memory;
  written_ = 0;
  is_open_ = true;
  return true;
}

bool MemoryWindow::close(QueuePair& pair) {
  if (!is_open_) return true;
  is_open_ = false;
  region_.reset();
  if (window_ == nullptr) return true;
  if (!pair.invalidate(key_)) return false;
  closed_at_ = pair.posted();
  return true;
}

bool MemoryWindow::note_written(std::size_t size) {
  if (!is_open_ || size > memory_.size() - written_) return false;
  written_ += size;
  return true;
}

}  // namespace remotecl
