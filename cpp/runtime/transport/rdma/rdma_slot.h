#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/rdma/rdma_channel.h"
#include "runtime/transport/rdma/wakeup.h"

namespace remotecl {

// The present channel of a bulk stream, if there is one. Channels come and go while the stream lives; both sides
// know each by its number. Shared by the transport that uses the channel and by whoever makes new ones. Any
// thread.
class RdmaSlot {
 public:
  struct Entry {
    std::shared_ptr<RdmaChannel> channel;  // null: there is none now
    std::uint32_t number = 0;
  };
  // Called with the new state when a channel has come or was lost, on the thread that has noticed.
  using Report = std::function<void(const RdmaState&)>;

  explicit RdmaSlot(Report report = {}) : report_(std::move(report)) {}

  Entry get() const EXCLUDES(mutex_);
  // Ends the former channel, whose number must have been lower. Returns false if it was not, or after end().
  bool put(std::shared_ptr<RdmaChannel> channel, std::uint32_t number) EXCLUDES(mutex_);
  // The channel is of no more use. Ends it, unless it has been replaced already.
  void drop(const std::shared_ptr<RdmaChannel>& channel) EXCLUDES(mutex_);
  // A channel could not be made.
  void fail(const std::string& reason) EXCLUDES(mutex_);
  // There will be no more channels.
  void end() EXCLUDES(mutex_);
  enum class Seen { kChannel, kNone, kEnd };
  // Waits this long, or until there is no channel, or until end().
  Seen await_loss(std::chrono::milliseconds time) EXCLUDES(mutex_);
  // Waits this long. Returns false after end(), at once.
  bool rest(std::chrono::milliseconds pause) EXCLUDES(mutex_);

  // Readable from put() until seen().
  int handle() const { return changed_.handle(); }
  void seen() { changed_.clear(); }
  // What all channels have moved.
  BulkTransport::RdmaBytes bytes() const EXCLUDES(mutex_);
  RdmaState state() const EXCLUDES(mutex_);
  // Why the last channel was lost; empty if none was.
  std::string last_loss() const EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::shared_ptr<RdmaChannel> leave_channel() REQUIRES(mutex_);
  void note_loss() REQUIRES(mutex_);
  RdmaState present_state() const REQUIRES(mutex_);

  const Report report_;
  Wakeup changed_;
  mutable Mutex mutex_;
  ConditionVariable lost_;
  Entry entry_ GUARDED_BY(mutex_);
  RdmaState past_ GUARDED_BY(mutex_) = {RdmaState::Kind::kConnecting, {}, {}, {}, {}};  // without the present channel
  bool is_over_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl
