#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/admission/peer_rules.h"
#include "server/isolation/child_process.h"
#include "server/isolation/tls_relay.h"
#include "server/status/status_report.h"
#include "server/util/worker.h"

namespace remotecl::server {

// A session that has a process of its own, as the daemon sees it. Owned by the warden and by the threads that serve its
// connections; any thread where nothing else is said.
class IsolatedSession {
 public:
  // `peers` outlives it.
  IsolatedSession(std::unique_ptr<ChildProcess> process, Address client, std::string user, std::size_t devices,
                  const PeerRules& peers);

  const Address& client() const { return client_; }
  const std::string& user() const { return user_; }
  pid_t process() const { return process_->id(); }

  // Hands the first connection over, with counters of its user's and its own, or another one. False when the process
  // does not take it; then the connection is still there. Before run(), and at any time.
  bool begin(IncomingConnection& arrival, const BeginWords& words, int user_counters, int own_counters);
  bool pass_on(IncomingConnection& arrival) EXCLUDES(mutex_);

  // On the thread of the first connection: until the process has ended, and nothing passes through this one for it.
  ProcessEnd run() EXCLUDES(mutex_);
  // Whether the session has ended in order. After run().
  bool ended_in_order() const { return ended_in_order_; }

  // The process is to end its session.
  void close() { process_->channel().end_sending(); }
  // The same, at once; its client is told these words. kill() is for one that does not.
  void kick(std::uint64_t session, const std::string& words) EXCLUDES(mutex_);
  void kill() { process_->kill(); }
  // The words of kick(); empty: it was not called.
  std::string kicked() const EXCLUDES(mutex_);
  // Asks for a report with this number, higher than any before. What it has told, with that number or, if that does not
  // come in time, with another one.
  void ask(std::uint64_t number, std::chrono::seconds patience);
  StatusReport report(std::uint64_t number, Deadline deadline) EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kErrandsMax = 128;  // at a time

  bool send_further(IncomingConnection& arrival, int descriptor);
  void take(const SessionChannel::Packet& packet) EXCLUDES(mutex_);
  std::unique_ptr<StreamConnection> connect(const Address& to, std::chrono::milliseconds timeout) const;
  void dial(const DialWords& words);
  void open(const OpenWords& words);
  void run_errand(std::uint64_t number, std::function<Descriptor()> work);
  void answer(std::uint64_t number, std::string_view failure, const Descriptor& descriptor);
  bool enter(TlsRelay& relay) EXCLUDES(mutex_);
  void leave(TlsRelay& relay) EXCLUDES(mutex_);
  void end_relays() EXCLUDES(mutex_);

  const std::unique_ptr<ChildProcess> process_;
  const Address client_;
  const std::string user_;
  const PeerRules& peers_;
  bool ended_in_order_ = false;
  std::unique_ptr<TlsRelay> first_;  // of the first connection
  std::thread first_thread_;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::string kicked_ GUARDED_BY(mutex_);
  bool gone_ GUARDED_BY(mutex_) = false;
  std::uint64_t reported_ GUARDED_BY(mutex_) = 0;  // the number of the last report
  StatusReport report_ GUARDED_BY(mutex_);
  std::set<TlsRelay*> relays_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> errands_running_{0};
  Worker errands_{4};  // what the process may not do itself
};

}  // namespace remotecl::server
