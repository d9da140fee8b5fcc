#pragma once

#include <memory>
#include <set>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/handshake/handshake.h"

namespace remotecl::server {

class StripeGroup;

// The streams of a session and its links that are being put together from several connections. Owned by the
// session; any thread.
class StripeTable {
 public:
  // Adds a further connection of a stream at its index. Returns the key that the connection has proved to
  // know, or nothing if the connection belongs to no stream.
  std::optional<Secret> add(const Hello& hello, std::shared_ptr<Connection> connection) EXCLUDES(mutex_);
  // Ends every wait for further connections.
  void close() EXCLUDES(mutex_);
  // A client wants to resume a stream that does not exist yet: its first connection broke while further ones
  // were awaited. Ends these waits, and returns when every stream has begun or failed.
  void settle(Deadline deadline) EXCLUDES(mutex_);

 private:
  friend class StripeGroup;

  void end_waiting() REQUIRES(mutex_);

  Mutex mutex_;
  ConditionVariable changed_;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::set<StripeGroup*> groups_ GUARDED_BY(mutex_);
};

// A stream being put together, from before its Welcome until it has begun or failed. Used by the thread that
// does the handshake of its first connection.
class StripeGroup {
 public:
  // `count`: the most connections; 0 or 1 for a stream that has one and is listed only so that settle() waits
  // for it. Further connections must prove that they know `key`.
  StripeGroup(StripeTable& table, unsigned count, const Secret& key);
  ~StripeGroup() { leave(); }
  StripeGroup(const StripeGroup&) = delete;
  StripeGroup& operator=(const StripeGroup&) = delete;

  // Waits until the peer says how many connections it made, and returns the stream: `first` itself if there
  // is only one, or an ended connection if the peer is gone or broke the rules.
  std::unique_ptr<Connection> join(std::unique_ptr<Connection> first);
  // The stream has begun or failed: no more connections may join it.
  void leave();

 private:
  friend class StripeTable;

  std::uint64_t await_count(Connection& first);

  StripeTable& table_;
  const Secret key_;
  const std::size_t further_count_;
  Connection* waits_for_ GUARDED_BY(table_.mutex_) = nullptr;
  std::vector<std::shared_ptr<Connection>> further_ GUARDED_BY(table_.mutex_);  // null where none has arrived
};

}  // namespace remotecl::server
