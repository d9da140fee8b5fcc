#include "extras/kernel_sockets/space/pipe.h"

#include <algorithm>
#include <cerrno>

namespace remotecl::server {

Ref<Pipe> Pipe::make(const Ref<SocketAccount>& account) {
  return account->hold_memory(kHeld) ? Ref<Pipe>::adopt(new Pipe(account)) : nullptr;
}

void Pipe::attach(End end, const Ref<Inbox>& inbox, std::uint64_t socket) {
  MutexLock lock(mutex_);
  listeners_[static_cast<std::size_t>(end)] = {inbox, socket};
}

void Pipe::wake(End end) {
  Listener listener;
  {
    MutexLock lock(mutex_);
    listener = listeners_[static_cast<std::size_t>(end)];
  }
  if (listener.inbox) listener.inbox->wake(listener.socket);
}

Moved Pipe::send(End end, SendRing& ring) {
  Moved moved;
  bool was_empty = false;
  {
    MutexLock lock(mutex_);
    Way& way = from(end);
    if (way.is_broken || way.is_over) {
      moved.error = EPIPE;
      return moved;
    }
    if (!way.data) way.data = std::make_unique_for_overwrite<std::byte[]>(kSize);
    was_empty = way.count == 0;
    while (ring.filled() != 0 && way.count < kSize) {
      const std::size_t at = (way.begin + way.count) % kSize;
      const std::size_t size = std::min({std::size_t{ring.filled()}, kSize - way.count, kSize - at});
      ring.bytes().copy_out(ring.head(), &way.data[at], static_cast<std::uint32_t>(size));
      ring.take(static_cast<std::uint32_t>(size));
      way.count += size;
      moved.bytes += static_cast<std::uint32_t>(size);
    }
    moved.is_blocked = way.sender_waits = ring.filled() != 0;
  }
  if (was_empty && moved.bytes != 0) wake(other(end));
  return moved;
}

Moved Pipe::receive(End end, ReceiveRing& ring) {
  Moved moved;
  bool wakes = false;
  {
    MutexLock lock(mutex_);
    Way& way = from(other(end));
    while (ring.room() != 0 && way.count != 0) {
      const std::size_t size = std::min({std::size_t{ring.room()}, way.count, kSize - way.begin});
      ring.bytes().copy_in(ring.tail(), &way.data[way.begin], static_cast<std::uint32_t>(size));
      ring.put(static_cast<std::uint32_t>(size));
      way.begin = (way.begin + size) % kSize;
      way.count -= size;
      moved.bytes += static_cast<std::uint32_t>(size);
    }
    moved.has_ended = way.count == 0 && way.is_over;
    moved.is_blocked = way.count == 0 && !way.is_over;
    wakes = moved.bytes != 0 && way.sender_waits;
    if (wakes) way.sender_waits = false;
  }
  if (wakes) wake(other(end));
  return moved;
}

void Pipe::shutdown(End end) {
  {
    MutexLock lock(mutex_);
    from(end).is_over = true;
  }
  wake(other(end));
}

void Pipe::close(End end) {
  {
    MutexLock lock(mutex_);
    from(end).is_over = true;
    from(other(end)).is_broken = true;
    listeners_[static_cast<std::size_t>(end)] = {};
  }
  wake(other(end));
}

}  // namespace remotecl::server
