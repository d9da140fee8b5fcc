#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "extras/kernel_sockets/space/inbox.h"
#include "extras/kernel_sockets/space/socket_account.h"
#include "extras/kernel_sockets/space/waking_endpoint.h"
#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"

namespace remotecl::server {

// A connection between two kernels of one session, in memory. Its two ends may belong to networks with different proxy
// threads, so the bytes wait in between. Shared by its two ends; any thread.
class Pipe final : public RefCounted {
 public:
  static constexpr std::size_t kSize = 256u << 10;  // in each direction

  // Null if the account may not hold the memory of another one.
  static Ref<Pipe> make(const Ref<SocketAccount>& account);

  enum class End : std::uint8_t { kConnected, kAccepted };
  // Whom to wake when an end can go on.
  void attach(End end, const Ref<Inbox>& inbox, std::uint64_t socket) EXCLUDES(mutex_);

  Moved send(End end, SendRing& ring) EXCLUDES(mutex_);
  Moved receive(End end, ReceiveRing& ring) EXCLUDES(mutex_);
  void shutdown(End end) EXCLUDES(mutex_);
  // The end neither sends nor receives any more.
  void close(End end) EXCLUDES(mutex_);

 private:
  static constexpr std::uint64_t kHeld = 2 * kSize + 512;  // the rest estimated

  explicit Pipe(const Ref<SocketAccount>& account) : account_(account) {}
  ~Pipe() override { account_->free_memory(kHeld); }

  // What one end sends and the other receives.
  struct Way {
    std::unique_ptr<std::byte[]> data;  // made when first needed
    std::size_t begin = 0, count = 0;
    bool is_over = false;    // the sender is done
    bool is_broken = false;  // the receiver is gone
    bool sender_waits = false;
  };
  struct Listener {
    Ref<Inbox> inbox;
    std::uint64_t socket = 0;
  };

  static End other(End end) { return end == End::kConnected ? End::kAccepted : End::kConnected; }
  Way& from(End end) REQUIRES(mutex_) { return ways_[static_cast<std::size_t>(end)]; }
  // Called without the lock, because the inbox's lock comes before it in the locking order.
  void wake(End end) EXCLUDES(mutex_);

  const Ref<SocketAccount> account_;
  Mutex mutex_;
  std::array<Way, 2> ways_ GUARDED_BY(mutex_);
  std::array<Listener, 2> listeners_ GUARDED_BY(mutex_);
};

// One end of a pipe.
class PipeEndpoint final : public WakingEndpoint {
 public:
  PipeEndpoint(Ref<Pipe> pipe, Pipe::End end) : pipe_(std::move(pipe)), end_(end) {}
  ~PipeEndpoint() override { pipe_->close(end_); }
  PipeEndpoint(const PipeEndpoint&) = delete;
  PipeEndpoint& operator=(const PipeEndpoint&) = delete;

  void attach(const Ref<Inbox>& inbox, std::uint64_t socket) override { pipe_->attach(end_, inbox, socket); }
  Moved send(SendRing& ring) override { return pipe_->send(end_, ring); }
  Moved receive(ReceiveRing& ring) override { return pipe_->receive(end_, ring); }
  void shutdown() override { pipe_->shutdown(end_); }

 private:
  const Ref<Pipe> pipe_;
  const Pipe::End end_;
};

}  // namespace remotecl::server
