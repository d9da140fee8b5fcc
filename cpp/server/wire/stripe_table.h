#pragma once

#include <memory>
#include <set>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/handshake/handshake.h"

namespace remotecl::server {

class StripeGroup;

// The streams of a session, and of its links, that are being put together from several connections. Owned by the
// session; any thread.
class StripeTable {
 public:
  // A further connection of one of them, in its place; what it proves to know, or nothing when it belongs to none.
  std::optional<Secret> add(const Hello& hello, std::shared_ptr<Connection> connection) EXCLUDES(mutex_);
  // Whoever waits for connections gets none.
  void close() EXCLUDES(mutex_);
  // Somebody comes back for a stream that is not there: its first connection has been lost while others were awaited.
  // Ends these, and waits until all are what they can be.
  void settle(Deadline deadline) EXCLUDES(mutex_);

 private:
  friend class StripeGroup;

  void end_waiting() REQUIRES(mutex_);

  Mutex mutex_;
  ConditionVariable changed_;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::set<StripeGroup*> groups_ GUARDED_BY(mutex_);
};

// One of those, from before its Welcome until it is put together or left. By the thread that greets its first
// connection.
class StripeGroup {
 public:
  // `count`: connections, at most; 0 or 1: it is none of several, and only waited for (settle()). The further ones
  // prove to know `key`.
  StripeGroup(StripeTable& table, unsigned count, const Secret& key);
  ~StripeGroup() { leave(); }
  StripeGroup(const StripeGroup&) = delete;
  StripeGroup& operator=(const StripeGroup&) = delete;

  // Waits until whoever connects says that its connections are made, and gives the stream: `first` if it is alone, one
  // that has ended when the peer is gone or did not behave.
  std::unique_ptr<Connection> join(std::unique_ptr<Connection> first);
  // The stream has begun, or will not: no more connections belong to it.
  void leave();

 private:
  friend class StripeTable;

  std::uint64_t await_count(Connection& first);

  StripeTable& table_;
  const Secret key_;
  const std::size_t places_;
  // By the table's mutex.
  Connection* waits_for_ = nullptr;
  std::vector<std::shared_ptr<Connection>> further_;  // null where none has come
};

}  // namespace remotecl::server
