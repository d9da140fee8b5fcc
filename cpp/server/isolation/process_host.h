#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/admission/rejection_counts.h"
#include "server/driver/native_driver.h"
#include "server/isolation/isolated_session.h"
#include "server/isolation/spare_processes.h"
#include "server/session/ended_sessions.h"
#include "server/session/host.h"
#include "server/session/shared.h"

namespace remotecl::server {

// Hosts each session in a process of its own. The daemon hands connections over and touches no device for
// them. A process that crashes takes one session with it; a client that tries to resume that session is given
// the reason. Any thread.
class ProcessHost final : public Host, private LoadSource {
 public:
  // `driver`, `refusals` and `store` must outlive it; `store` is null if there is none. `dialers`: connect sessions to
  // others' servers.
  ProcessHost(ProcessCommand command, const NativeDriver& driver, RejectionCounts& refusals, std::uint64_t epoch,
              MakeLinkDialer dialers, ContentStore* store, const ArgumentProvider& arguments = no_arguments());

  void serve_session(IncomingConnection& incoming, const Admission& admission, std::unique_ptr<Grant> grant) override
      EXCLUDES(mutex_);
  void serve_further(IncomingConnection& incoming) override EXCLUDES(mutex_);
  void close() override EXCLUDES(mutex_);
  StatusReport report(const Viewer& viewer, std::chrono::seconds patience) override EXCLUDES(mutex_);
  KickResult kick(std::uint64_t session, const User* user, const std::string& words) override EXCLUDES(mutex_);
  std::uint64_t crashes() const override EXCLUDES(mutex_);

 private:
  using SessionPointer = std::shared_ptr<IsolatedSession>;

  bool add(std::uint64_t id, const SessionPointer& session) EXCLUDES(mutex_);
  // `why`: the reason if the session did not end in order, else empty.
  void remove(std::uint64_t id, std::string why, bool crashed) EXCLUDES(mutex_);
  // Waits for remove(), after the process has stopped taking connections. Returns false if the deadline comes
  // first.
  bool await_removal(std::uint64_t id, Deadline deadline) EXCLUDES(mutex_);
  SessionPointer find(std::uint64_t id) const EXCLUDES(mutex_);
  // Those whose processes take messages.
  std::vector<SessionPointer> begun() const EXCLUDES(mutex_);
  std::vector<SessionPointer> begun_locked() const REQUIRES(mutex_);
  void watch_loads(std::uint64_t id, bool is_wanted) EXCLUDES(mutex_);
  // LoadSource
  std::vector<SessionLoad> look() override EXCLUDES(mutex_);
  void pause() override {}
  void rest() override EXCLUDES(mutex_);
  // The record of a session that has left.
  std::string what_became_of(const Hello& hello) const EXCLUDES(mutex_);
  void refuse_without_process(Connection& connection);
  void refuse(Connection& connection, Refusal why, WelcomeStatus status, std::string_view text);

  const NativeDriver& driver_;
  RejectionCounts& refusals_;
  const std::uint64_t epoch_;
  const MakeLinkDialer dialers_;
  ContentStore* const store_;
  const ArgumentProvider& arguments_;
  std::atomic<std::uint64_t> questions_{0};
  SpareProcesses spares_;

  mutable Mutex mutex_;
  ConditionVariable removed_;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::map<std::uint64_t, SessionPointer> sessions_ GUARDED_BY(mutex_);
  StatusReport past_ GUARDED_BY(mutex_);
  std::uint64_t crashes_ GUARDED_BY(mutex_) = 0;
  EndedSessions ended_ GUARDED_BY(mutex_);  // except those that ended in order
  LoadReporter loads_{*this};               // last, because its thread uses the other members
};

}  // namespace remotecl::server
