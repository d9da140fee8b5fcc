#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/handshake/bulk_upgrade.h"
#include "server/admission/rejection_counts.h"
#include "server/driver/native_driver.h"
#include "server/driver/stdout_capture.h"
#include "server/program/build_cache.h"
#include "server/program/program_files.h"
#include "server/session/ended_sessions.h"
#include "server/session/host.h"
#include "server/session/session.h"
#include "server/status/load_board.h"
#include "server/status/status_collector.h"

namespace remotecl::server {

// Hosts sessions in this process. Any thread.
class SessionHost final : public Host {
 public:
  // All arguments must outlive it. `stuck`: what to do about a session that is over but does not end, if it
  // has the process to itself; null just logs it. `store`: keeps built programs and uploads; null if there is none.
  // `rdma`: null if bulk data does not go by RDMA.
  SessionHost(const HandlerTable& handlers, NativeDriver& driver, RejectionCounts& refusals, std::uint64_t epoch,
              const PeerRules& peers, MakeLinkDialer dialers, std::function<void(Session&)> stuck = nullptr,
              ContentStore* store = nullptr, BulkOffloadAcceptor* rdma = nullptr,
              const ArgumentProvider& arguments = no_arguments());
  // Stops the acceptor, which uses the sessions.
  ~SessionHost() override;

  void serve_session(IncomingConnection& incoming, const Admission& admission, std::unique_ptr<Grant> grant) override
      EXCLUDES(mutex_);
  void serve_further(IncomingConnection& incoming) override;
  void close() override EXCLUDES(mutex_);
  StatusReport report(const Viewer& viewer, std::chrono::seconds patience) override {
    return board_.report(nullptr, viewer, patience);
  }
  LoadBoard& loads() { return loads_; }
  // Why this side has ended a session, as text for its client; empty if it did not, or long ago.
  std::string why_ended(std::uint64_t id) const EXCLUDES(mutex_);
  // Stores now what is to be stored later. REQUIRES: there are no sessions.
  void save_all(std::chrono::steady_clock::time_point deadline);
  KickResult kick(std::uint64_t session, const User* user, const std::string& words) override EXCLUDES(mutex_);

 private:
  StreamCarrier upgrade(IncomingConnection& incoming, Session& session, const Secret& secret, std::uint64_t features,
                        StripeGroup& stripes, const std::string& with);
  std::uint64_t possible_features(const IncomingConnection& incoming, const Session& session) const;
  RdmaState rdma_wish_for(const Hello& hello, const Session& session) const;
  void serve_return(IncomingConnection& incoming);
  void serve_bulk(IncomingConnection& incoming);
  void serve_peer(IncomingConnection& incoming);
  void serve_stripe(IncomingConnection& incoming);
  Ref<Session> find_session(std::uint64_t id) const EXCLUDES(mutex_);
  std::string what_became_of(const Session* session, std::uint64_t id) const EXCLUDES(mutex_);
  void refuse(Connection& connection, Refusal why, WelcomeStatus status, std::string_view text);

  const HandlerTable& handlers_;
  NativeDriver& driver_;
  RejectionCounts& refusals_;
  const std::uint64_t epoch_;
  const PeerRules& peers_;
  const MakeLinkDialer dialers_;
  ProgramFiles files_;
  BuildCache built_;
  UploadStore uploads_;
  ContentStore* const store_;
  StdoutCapture output_;
  StatusCollector board_;
  LoadBoard loads_;
  BulkOffloadAcceptor* const rdma_;
  const ArgumentProvider& arguments_;

  mutable Mutex mutex_;
  ConditionVariable removed_;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::map<std::uint64_t, Ref<Session>> sessions_ GUARDED_BY(mutex_);
  EndedSessions ended_ GUARDED_BY(mutex_);
  SessionWatch watch_;  // last, because its thread uses the other members
};

}  // namespace remotecl::server
