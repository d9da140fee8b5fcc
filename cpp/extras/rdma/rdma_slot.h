#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "extras/rdma/rdma_channel.h"
#include "extras/rdma/wakeup.h"
#include "runtime/base/mutex.h"
#include "runtime/transport/bulk/rdma_state.h"

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
  // Called with the new state when a channel has come or was lost, or there will be none because of hold(), on the
  // thread that has noticed.
  using Report = std::function<void(const RdmaState&)>;

  // Counts bytes of memory that is locked for the stream, as long as the result lives. Null if they would be too many.
  using Hold = std::function<std::shared_ptr<const void>(std::uint64_t bytes)>;

  // `hold`: empty if nothing bounds that memory.
  explicit RdmaSlot(Report report = {}, Hold hold = {}) : report_(std::move(report)), hold_(std::move(hold)) {}

  Entry get() const EXCLUDES(mutex_);
  // Ends the former channel, whose number must have been lower. Returns false if it was not, or after end().
  bool put(std::shared_ptr<RdmaChannel> channel, std::uint32_t number) EXCLUDES(mutex_);
  // Ends the channel, unless it has been replaced already. What has arrived can still be received.
  void drop(const std::shared_ptr<RdmaChannel>& channel) EXCLUDES(mutex_);
  // The channel with this number, for the receiving side, which may learn of a channel after that has ended, and still
  // finds there what the peer knows to be delivered. Null if there is none yet, and after give_up(). Numbers never
  // fall.
  std::shared_ptr<RdmaChannel> find(std::uint32_t number) EXCLUDES(mutex_);
  // Ends the channel, and forgets it.
  void give_up(std::uint32_t number) EXCLUDES(mutex_);
  // A channel could not be made.
  void fail(const std::string& reason) EXCLUDES(mutex_);
  // Call it before memory is locked for the stream. After it has returned null, which ends the channel, there will be
  // no more channels.
  std::shared_ptr<const void> hold(std::uint64_t bytes) EXCLUDES(mutex_);
  // There will be no more channels.
  void end() EXCLUDES(mutex_);
  enum class Seen { kChannel, kNone, kEnd };
  // Waits this long, or until there is no channel, or until end(). Drops a channel that the peer or the device has
  // ended while nobody used it.
  Seen await_loss(std::chrono::milliseconds time) EXCLUDES(mutex_);
  // Waits this long. Returns false after end(), at once.
  bool rest(std::chrono::milliseconds pause) EXCLUDES(mutex_);
  // Whether the last channel that ended had moved nothing, or none has ended.
  bool was_in_vain() const EXCLUDES(mutex_);

  // Readable from put() until seen().
  int handle() const { return changed_.handle(); }
  void seen() { changed_.clear(); }
  // Counts a system call that a user of the channel makes for the sake of bytes that go there.
  void note_system_call() { calls_beside_.fetch_add(1, std::memory_order_relaxed); }
  // With what all channels have moved.
  RdmaState state() const EXCLUDES(mutex_);

 private:
  using Entries = std::vector<Entry>;

  [[nodiscard]] Entries leave_channel() REQUIRES(mutex_);
  [[nodiscard]] Entries forget(std::uint32_t below) REQUIRES(mutex_);
  void refuse() EXCLUDES(mutex_);
  void note_loss() REQUIRES(mutex_);
  RdmaState present_state() const REQUIRES(mutex_);

  const Report report_;
  const Hold hold_;
  Wakeup changed_;
  std::atomic<std::uint64_t> calls_beside_{0};
  mutable Mutex mutex_;
  ConditionVariable lost_;
  Entry entry_ GUARDED_BY(mutex_);
  Entries former_ GUARDED_BY(mutex_);  // which have ended and may have something to be received
  // Without the present channel and the former ones.
  RdmaState past_ GUARDED_BY(mutex_) = {RdmaState::Kind::kConnecting, {}, {}, {}, {}};
  bool was_in_vain_ GUARDED_BY(mutex_) = true;
  bool is_over_ GUARDED_BY(mutex_) = false;
  bool is_refused_ GUARDED_BY(mutex_) = false;  // by hold_
};

}  // namespace remotecl
