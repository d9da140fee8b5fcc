#include "extras/kernel_sockets/server/link_pipe.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "extras/kernel_sockets/server/link_pipes.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

LinkPipe::LinkPipe(const Ref<LinkPipes>& link) : link_(link) {}
LinkPipe::~LinkPipe() { link_->forget(); }

void LinkPipe::attach(const Ref<Inbox>& inbox, std::uint64_t socket) {
  MutexLock lock(mutex_);
  inbox_ = inbox;
  socket_ = socket;
}

void LinkPipe::wake() {
  Ref<Inbox> inbox;
  std::uint64_t socket = 0;
  {
    MutexLock lock(mutex_);
    inbox = inbox_;
    socket = socket_;
  }
  if (inbox) inbox->wake(socket);
}

// Sends with the lock held, which keeps the messages of a connection in order; the link's outbox never blocks.
Moved LinkPipe::send(SendRing& ring) {
  Moved moved;
  MutexLock lock(mutex_);
  // The peer treats data after this side's end as a protocol error, which costs the link.
  if (is_over_ || !goes_on()) {
    moved.error = is_lost_ ? ECONNRESET : EPIPE;
    return moved;
  }
  const bool is_behind = link_->is_behind(Ref<LinkPipe>(this));
  while (ring.filled() != 0 && credit_ != 0 && !is_behind) {
    iovec pieces[2];
    ring.pieces(pieces);
    const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>({pieces[0].iov_len, credit_, kInlineDataMax}));
    link_->send(PipeData{far_, Bytes(static_cast<const std::byte*>(pieces[0].iov_base), size)});
    ring.take(size);
    credit_ -= size;
    untaken_ += size;
    moved.bytes += size;
  }
  moved.is_blocked = ring.filled() != 0;
  return moved;
}

Moved LinkPipe::receive(ReceiveRing& ring) {
  Moved moved;
  MutexLock lock(mutex_);
  while (ring.room() != 0 && count_ != 0) {
    const std::uint32_t size = std::min({ring.room(), count_, kWindow - begin_});
    ring.bytes().copy_in(ring.tail(), &data_[begin_], size);
    ring.put(size);
    begin_ = (begin_ + size) % kWindow;
    count_ -= size;
    taken_ += size;
    moved.bytes += size;
  }
  if (taken_ >= kWindow / 4 && !is_far_over_ && goes_on()) {
    link_->send(PipeCredit{far_, taken_});
    room_ += std::exchange(taken_, 0);
  }
  moved.has_ended = count_ == 0 && is_far_over_;
  if (count_ == 0 && is_lost_ && !is_far_over_) moved.error = ECONNRESET;
  moved.is_blocked = count_ == 0 && !moved.has_ended && moved.error == 0;
  return moved;
}

void LinkPipe::send_end(bool is_closed) {
  if (far_ != 0 && goes_on()) link_->send(PipeEnd{far_, is_closed ? 1u : 0u});
}

void LinkPipe::shutdown() {
  MutexLock lock(mutex_);
  if (!std::exchange(is_over_, true)) send_end(false);
}

void LinkPipe::close() {
  Ref<Inbox> inbox;  // ends without the lock, as there may be endpoints in it
  MutexLock lock(mutex_);
  is_closed_ = true;
  inbox = std::exchange(inbox_, nullptr);
  data_.reset();
  count_ = 0;
  send_end(true);
}

void LinkPipe::open(PipeId far, std::uint32_t window) {
  MutexLock lock(mutex_);
  far_ = far;
  credit_ = window;
}

void LinkPipe::answer(PipeId asked, PipeId near, std::uint32_t window) {
  {
    MutexLock lock(mutex_);
    link_->send(NameReply{asked, 0, near, kWindow});
    far_ = asked;
    credit_ = window;
    // The kernel may already have ended or closed its side.
    if (is_over_ || is_closed_) send_end(is_closed_);
  }
  wake();
}

void LinkPipe::deliver(Bytes data) {
  bool was_empty = false;
  {
    MutexLock lock(mutex_);
    if (is_far_over_) throw ProtocolError("a peer's kernel sends after its end");
    if (data.size() > room_) throw ProtocolError("a peer sends a kernel more than there is room for");
    const auto size = static_cast<std::uint32_t>(data.size());
    room_ -= size;
    if (is_closed_ || size == 0) return;
    if (!data_) data_ = std::make_unique_for_overwrite<std::byte[]>(kWindow);
    was_empty = count_ == 0;
    const std::uint32_t at = (begin_ + count_) % kWindow, first = std::min(size, kWindow - at);
    std::memcpy(&data_[at], data.data(), first);
    std::memcpy(data_.get(), data.data() + first, size - first);
    count_ += size;
  }
  if (was_empty) wake();
}

void LinkPipe::credit(std::uint32_t bytes) {
  {
    MutexLock lock(mutex_);
    if (bytes > untaken_) throw ProtocolError("a peer's kernel has taken more than was sent");
    untaken_ -= bytes;
    credit_ += bytes;
  }
  wake();
}

void LinkPipe::end(bool is_closed) {
  {
    MutexLock lock(mutex_);
    is_far_over_ = true;
    if (is_closed) {
      // The peer keeps its end until it learns that this side sends nothing more.
      if (!is_closed_) send_end(true);
      is_far_closed_ = true;
    }
  }
  wake();
}

void LinkPipe::lose() {
  {
    MutexLock lock(mutex_);
    is_lost_ = true;
  }
  wake();
}

}  // namespace remotecl::server
