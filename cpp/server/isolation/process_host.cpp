#include "server/isolation/process_host.h"

#include <signal.h>

#include <system_error>
#include <utility>

#include "server/admission/handshake.h"
#include "server/session/session_watch.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

// If a process does not answer in this time, its last report is used.
constexpr std::chrono::seconds kReportTime{2};

constexpr std::chrono::seconds kKillDelay{1};

std::string remedy(const ProcessEnd& end) {
  if (end.signal == SIGKILL) {
    return "the machine had no memory left for it, or somebody ended it; the server machine's log (dmesg) tells which. "
           "Other sessions go on; start the program again, with less memory if that was it";
  }
  if (end.signal != 0) {
    return "the driver crashed, on one of the program's kernels or builds, most likely. Other sessions go on; find out "
           "which by running the program's kernels one by one, and look into the server's log";
  }
  return "the driver ended it. Other sessions go on; look into the server's log";
}

// The text for the client.
std::string text_of(const ProcessEnd& end) {
  return "the process that served this session " + end.text() + ": " + remedy(end);
}

BeginMessage begin_message(const IncomingConnection& incoming, const Admission& admission, const Grant& grant,
                           std::uint64_t epoch, const std::vector<std::uint32_t>& devices) {
  const User& user = grant.user();
  return {ConnectionFields::of(incoming),
          epoch,
          admission.session,
          admission.features,
          admission.secret,
          admission.shown,
          user.name(),
          LimitFields::of(user.limits()),
          LimitFields::of(grant.of_session()),
          std::span<const std::uint32_t>(devices)};
}

SessionLoad no_load(const Admission& admission, const Grant& grant, std::size_t devices) {
  return {admission.session, std::vector<SessionLoad::OnDevice>(devices, SessionLoad::OnDevice{0, grant.weight()})};
}

}  // namespace

ProcessHost::ProcessHost(ProcessCommand command, const NativeDriver& driver, RejectionCounts& refusals,
                         std::uint64_t epoch, MakeLinkDialer dialers, ContentStore* store,
                         const ArgumentProvider& arguments)
    : driver_(driver),
      refusals_(refusals),
      epoch_(epoch),
      dialers_(std::move(dialers)),
      store_(store),
      arguments_(arguments),
      spares_(std::move(command)) {
  past_.devices.resize(driver.devices().size());
}

void ProcessHost::serve_session(IncomingConnection& incoming, const Admission& admission,
                                std::unique_ptr<Grant> grant) {
  auto process = spares_.take(incoming.deadline);
  if (process == nullptr) return refuse_without_process(*incoming.connection);
  std::unique_ptr<SessionShare> share;
  try {
    share = grant->share();
  } catch (const std::system_error& error) {
    log_error("{}", error.what());
    return refuse_without_process(*incoming.connection);
  }
  const auto session = std::make_shared<IsolatedSession>(
      std::move(process), std::move(share), incoming.from, grant->user(),
      no_load(admission, *grant, driver_.devices().size()),
      [this, id = admission.session](bool is_wanted) { watch_loads(id, is_wanted); }, [this] { loads_.changed(); },
      dialers_({admission.session, grant->user().name(), incoming.from}), store_,
      arguments_.opener(*grant, admission.session));
  if (!add(admission.session, session)) return;
  const std::vector<std::uint32_t> devices = grant->devices();
  const bool begun = session->begin(incoming, begin_message(incoming, admission, *grant, epoch_, devices));
  if (begun) {
    loads_.changed();  // so that the next look makes the process measure its load
  } else {
    refuse_without_process(*incoming.connection);
    session->close();
  }
  const ProcessEnd end = session->run();
  const std::string why = session->why_ended();
  const bool crashed = begun && !session->ended_in_order() && why.empty();
  if (crashed) {
    log_error("its process {}, of user {}, {}", session->process(), grant->user().name(), end.text());
  }
  grant->end();
  remove(admission.session, crashed ? text_of(end) : why, crashed);
}

void ProcessHost::refuse_without_process(Connection& connection) {
  refuse(connection, Refusal::kBusy, WelcomeStatus::kBusy,
         "it could not start a process for the session; its log says why. Try again, and if that does not help, ask "
         "whoever runs the server");
}

bool ProcessHost::add(std::uint64_t id, const SessionPointer& session) {
  MutexLock lock(mutex_);
  return !closed_ && sessions_.emplace(id, session).second;
}

void ProcessHost::remove(std::uint64_t id, std::string why, bool crashed) {
  loads_.unwatch(id);
  const SessionPointer session = find(id);
  const StatusReport last = session->report(0, {});
  MutexLock lock(mutex_);
  past_.add(last.past());
  if (crashed) ++crashes_;
  if (!why.empty()) ended_.add(id, std::move(why));
  sessions_.erase(id);
  removed_.notify_all();
}

bool ProcessHost::await_removal(std::uint64_t id, Deadline deadline) {
  MutexLock lock(mutex_);
  while (sessions_.contains(id)) {
    if (removed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return false;
  }
  return true;
}

KickResult ProcessHost::kick(std::uint64_t id, const User* user, const std::string& words) {
  const SessionPointer session = find(id);
  if (session == nullptr || (user != nullptr && session->user() != user->name())) return KickResult::kUnknown;
  session->kick(id, words);
  using Clock = std::chrono::steady_clock;
  // The process ends itself in this time, unless the driver or a client's code in it prevents that.
  if (await_removal(id, Clock::now() + SessionWatch::kEndPatience + kKillDelay)) return KickResult::kEnded;
  session->kill();
  return await_removal(id, Clock::now() + kReportTime) ? KickResult::kEnded : KickResult::kEnding;
}

ProcessHost::SessionPointer ProcessHost::find(std::uint64_t id) const {
  MutexLock lock(mutex_);
  const auto at = sessions_.find(id);
  return at == sessions_.end() ? nullptr : at->second;
}

std::vector<ProcessHost::SessionPointer> ProcessHost::begun() const {
  MutexLock lock(mutex_);
  return begun_locked();
}

std::vector<ProcessHost::SessionPointer> ProcessHost::begun_locked() const {
  std::vector<SessionPointer> sessions;
  for (const auto& [id, session] : sessions_) {
    if (session->has_begun()) sessions.push_back(session);
  }
  return sessions;
}

void ProcessHost::watch_loads(std::uint64_t id, bool is_wanted) {
  const SessionPointer session = find(id);
  if (!is_wanted || session == nullptr) return loads_.unwatch(id);
  std::vector<std::uint32_t> devices;
  for (const auto& device : driver_.devices()) devices.push_back(device->index());
  loads_.watch(id, std::move(devices), [session](auto changes) { return session->pass_loads(changes); });
}

std::vector<SessionLoad> ProcessHost::look() {
  std::vector<SessionLoad> loads;
  for (const SessionPointer& session : begun()) {
    if (!session->measure_load(true)) loads_.changed();  // the next look tries again
    loads.push_back(session->load());
  }
  return loads;
}

void ProcessHost::rest() {
  for (const SessionPointer& session : begun()) session->measure_load(false);
}

std::uint64_t ProcessHost::crashes() const {
  MutexLock lock(mutex_);
  return crashes_;
}

std::string ProcessHost::what_became_of(const Hello& hello) const {
  MutexLock lock(mutex_);
  if (std::string why = ended_.find(hello.session); !why.empty()) return why;
  if ((hello.features & kFeatureResume) != 0) {
    return "the session has ended here; it is kept only for a while when its connection is lost";
  }
  return "there is no such session, or the secret is wrong";
}

void ProcessHost::serve_further(IncomingConnection& incoming) {
  const std::uint64_t id = incoming.hello.session;
  if (const SessionPointer session = find(id)) {
    if (session->pass_on(incoming)) return;
    await_removal(id, incoming.deadline);
  }
  refuse(*incoming.connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession,
         what_became_of(incoming.hello));
}

void ProcessHost::close() {
  spares_.stop();
  MutexLock lock(mutex_);
  closed_ = true;
  for (const auto& [id, session] : sessions_) session->close();
}

StatusReport ProcessHost::report(const Viewer& viewer, std::chrono::seconds patience) {
  StatusReport report;
  std::vector<SessionPointer> sessions;
  {
    MutexLock lock(mutex_);  // for both, so that a session which ends now is in one of them
    report = past_;
    sessions = begun_locked();
  }
  const std::uint64_t number = ++questions_;
  for (const SessionPointer& session : sessions) session->ask(number, patience);
  const Deadline deadline = std::chrono::steady_clock::now() + kReportTime;
  for (const SessionPointer& session : sessions) {
    StatusReport more = session->report(number, deadline);
    if (!viewer.sees(session->user(), session->client())) {
      more.sessions.clear();
      more.links.clear();
    }
    report.add(more);
  }
  if (!viewer.is_operator) report.hide_other_users(viewer.user);
  return report;
}

void ProcessHost::refuse(Connection& connection, Refusal why, WelcomeStatus status, std::string_view text) {
  refusals_.count(why);
  server::refuse(connection, epoch_, status, text);
}

}  // namespace remotecl::server
