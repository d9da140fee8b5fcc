#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "extras/kernel_sockets/space/inbox.h"
#include "extras/kernel_sockets/space/waking_endpoint.h"
#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"

namespace remotecl::server {

class LinkPipes;

// This server's end of a connection between kernels on two servers. What the kernel here sends goes into the link at
// once, as far as the peer has room for it; what comes waits here until the kernel's ring has room. Shared by its link
// and its endpoint; any thread.
class LinkPipe final : public RefCounted {
 public:
  // The bytes that the peer may send before a kernel here takes any: enough for a round trip of the two servers.
  static constexpr std::uint32_t kWindow = 256u << 10;

  explicit LinkPipe(const Ref<LinkPipes>& link);
  ~LinkPipe() override;

  // ---- for the endpoint
  void attach(const Ref<Inbox>& inbox, std::uint64_t socket) EXCLUDES(mutex_);
  Moved send(SendRing& ring) EXCLUDES(mutex_);
  Moved receive(ReceiveRing& ring) EXCLUDES(mutex_);
  void shutdown() EXCLUDES(mutex_);
  // The kernel neither sends nor receives any more.
  void close() EXCLUDES(mutex_);

  // ---- for the link. Those for messages of the peer throw ProtocolError.
  // The peer has made its end, `far`, with room for `window` bytes.
  void open(PipeId far, std::uint32_t window) EXCLUDES(mutex_);
  // Like open(), but answers the peer before sending anything else. `asked`: the peer's number for its end; `near`:
  // this server's.
  void answer(PipeId asked, PipeId near, std::uint32_t window) EXCLUDES(mutex_);
  void deliver(Bytes data) EXCLUDES(mutex_);
  void credit(std::uint32_t bytes) EXCLUDES(mutex_);
  void end(bool is_closed) EXCLUDES(mutex_);
  // The link is lost.
  void lose() EXCLUDES(mutex_);
  // Wakes the kernel's socket, which can go on.
  void wake() EXCLUDES(mutex_);

 private:
  void send_end(bool is_closed) REQUIRES(mutex_);
  bool goes_on() const REQUIRES(mutex_) { return !is_far_closed_ && !is_lost_; }

  const Ref<LinkPipes> link_;
  Mutex mutex_;
  Ref<Inbox> inbox_ GUARDED_BY(mutex_);
  std::uint64_t socket_ GUARDED_BY(mutex_) = 0;
  PipeId far_ GUARDED_BY(mutex_) = 0;  // 0: the peer does not have its end yet
  // Sending.
  std::uint64_t credit_ GUARDED_BY(mutex_) = 0, untaken_ GUARDED_BY(mutex_) = 0;
  bool is_over_ GUARDED_BY(mutex_) = false, is_closed_ GUARDED_BY(mutex_) = false;
  // Receiving.
  std::unique_ptr<std::byte[]> data_ GUARDED_BY(mutex_);  // made when first needed
  std::uint32_t begin_ GUARDED_BY(mutex_) = 0, count_ GUARDED_BY(mutex_) = 0;
  std::uint32_t taken_ GUARDED_BY(mutex_) = 0;       // by the kernel, not yet reported to the peer
  std::uint32_t room_ GUARDED_BY(mutex_) = kWindow;  // that the peer knows of
  bool is_far_over_ GUARDED_BY(mutex_) = false, is_far_closed_ GUARDED_BY(mutex_) = false;
  bool is_lost_ GUARDED_BY(mutex_) = false;
};

// A kernel's socket that leads through a link.
class LinkPipeEndpoint final : public WakingEndpoint {
 public:
  explicit LinkPipeEndpoint(Ref<LinkPipe> pipe) : pipe_(std::move(pipe)) {}
  ~LinkPipeEndpoint() override { pipe_->close(); }
  LinkPipeEndpoint(const LinkPipeEndpoint&) = delete;
  LinkPipeEndpoint& operator=(const LinkPipeEndpoint&) = delete;

  void attach(const Ref<Inbox>& inbox, std::uint64_t socket) override { pipe_->attach(inbox, socket); }
  Moved send(SendRing& ring) override { return pipe_->send(ring); }
  Moved receive(ReceiveRing& ring) override { return pipe_->receive(ring); }
  void shutdown() override { pipe_->shutdown(); }

 private:
  const Ref<LinkPipe> pipe_;
};

}  // namespace remotecl::server
