#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/process_watch.h"
#include "server/admission/users.h"
#include "server/arguments/argument_provider.h"
#include "server/isolation/child_process.h"
#include "server/isolation/contained_content.h"
#include "server/isolation/link_messages.h"
#include "server/isolation/process_load.h"
#include "server/isolation/process_packets.h"
#include "server/isolation/session_claims.h"
#include "server/isolation/tls_relay.h"
#include "server/quota/user_shares.h"
#include "server/status/status_report.h"
#include "server/util/worker.h"

namespace remotecl::server {

// The daemon's side of a session that has a process of its own. Owned by ProcessHost and by the threads that
// serve its connections. Any thread, unless stated otherwise.
class IsolatedSession {
 public:
  // `load`: with no load yet. `wants_loads` is called when the session begins and when it ends
  // to watch others' loads. `store` must outlive it, and is null if there is none. `dialer`: connects to others'
  // servers. `open_for_kernel`: null if kernels may not
  // have anything opened.
  IsolatedSession(std::unique_ptr<ChildProcess> process, std::unique_ptr<SessionShare> share, Address client,
                  const User& user, SessionLoad load, std::function<void(bool)> wants_loads,
                  std::function<void()> load_changed, Ref<LinkDialer> dialer, ContentStore* store,
                  OpenForKernel open_for_kernel);

  const Address& client() const { return client_; }
  const std::string& user() const { return user_; }
  pid_t process() const { return process_->id(); }

  // begin() hands over the first connection, with the session's share, and comes before run(); pass_on() hands over
  // another one at any time. They return false if the process does not take the connection, which is then still in
  // `incoming`.
  bool begin(IncomingConnection& incoming, const BeginMessage& message);
  // Whether the process has the session. It passes over whatever comes before that. Any thread.
  bool has_begun() const { return has_begun_.load(std::memory_order_acquire); }
  bool pass_on(IncomingConnection& incoming) EXCLUDES(mutex_);

  // Serves the session on the thread of the first connection, until the process has ended and no relay is
  // left.
  ProcessEnd run() EXCLUDES(mutex_);
  // Whether the session has ended in order. Valid after run().
  bool ended_in_order() const { return state_ == ProcessState::kEnded; }

  // Asks the process to end its session.
  void close() { process_->channel().end_sending(); }
  // kick() ends the session at once and passes the message to its client; kill() is for a process that does
  // not react.
  void kick(std::uint64_t session, const std::string& message) EXCLUDES(mutex_);
  void kill() { process_->kill(); }
  // The message of kick(), or why the process has ended the session; empty if its client did, or if the process
  // crashed.
  std::string why_ended() const EXCLUDES(mutex_);
  // ask() requests a report with this number, which must be higher than any before. report() waits for it and
  // returns it; after the deadline, returns the last one instead.
  void ask(std::uint64_t number, std::chrono::seconds patience) EXCLUDES(mutex_);
  StatusReport report(std::uint64_t number, Deadline deadline) EXCLUDES(mutex_);

  // Makes the process start or stop measuring its session's load. Returns false if it takes no message now. One thread.
  bool measure_load(bool is_wanted) { return load_.measure(is_wanted, process_->channel()); }
  // As far as the process has reported it.
  SessionLoad load() const { return load_.get(); }
  // Passes on the load of other sessions. Returns false if the process takes no message now.
  bool pass_loads(std::span<const LoadOfDevice> loads);

 private:
  static constexpr std::size_t kRequestsMax = 128;    // at the same time
  static constexpr std::uint64_t kQuestionsMax = 64;  // that the process has not answered
  static constexpr std::size_t kDialsMax = 2048;      // that are running or waiting
  static constexpr std::size_t kDialThreads = 16;
  static constexpr std::size_t kRelaysMax = 512;  // TLS connections of links

  // What the process gets for a request.
  struct Given {
    Given(Descriptor descriptor, std::uint64_t checksum = 0) : descriptor(std::move(descriptor)), checksum(checksum) {}

    Descriptor descriptor;
    std::uint64_t checksum;
  };

  // A socket can be passed to another process. TLS can be decrypted only here.
  static bool is_socket(const Connection& connection);
  bool send_begin(const BeginMessage& message, int connection);
  bool send_further(const ConnectionFields& connection, int descriptor);
  // Returns false if the process may not send the packet, and is being ended for it.
  bool take(SessionChannel::Packet& packet) EXCLUDES(mutex_);
  // Does what the packet asks for. Returns false if its payload is not what its type demands.
  bool obey(SessionChannel::Packet& packet) EXCLUDES(mutex_);
  // `wrong`: what the process did.
  void end_for(const std::string& wrong) EXCLUDES(mutex_);
  // What ends the session, and no other one, when a thread of it lacks something.
  Worker::Failed on_failure();
  // Returns false if nobody has asked for the report, or if it is malformed.
  bool take_report(const SessionChannel::Packet& packet, const ReportMessage& message) EXCLUDES(mutex_);
  void dial(const DialMessage& message);
  void run_dial(std::uint64_t number, const LinkDialer::Wanted& wanted, std::chrono::milliseconds timeout,
                Deadline deadline);
  // Returns what the process gets of a connection.
  Descriptor hand_over(std::unique_ptr<Connection> connection) EXCLUDES(mutex_);
  bool answer(const DialedMessage& message, const Descriptor& descriptor);
  void open(const OpenMessage& message);
  void find(const StoreMessage& message);
  void keep(const StoreMessage& message, SessionChannel::Packet& packet);
  void open_upload(const StoreMessage& message);
  void open_socket(const SocketMessage& message);
  void run_request(std::uint64_t number, std::function<Given()> work);
  // `error`: see DoneMessage.
  void answer(std::uint64_t number, std::string_view failure, const Given& given, int error = 0);
  bool enter(TlsRelay& relay) EXCLUDES(mutex_);
  void leave(TlsRelay& relay) EXCLUDES(mutex_);
  void end_relays() EXCLUDES(mutex_);

  const std::unique_ptr<ChildProcess> process_;
  const std::unique_ptr<SessionShare> share_;
  // Programs that a kernel has started may keep the channel's other end open after the process has ended.
  const ProcessWatch watch_;
  const Address client_;
  const std::string user_;
  const std::function<void(bool)> wants_loads_;
  ProcessLoad load_;
  const Ref<LinkDialer> dialer_;
  ContainedContent content_;
  const OpenForKernel open_for_kernel_;
  std::atomic<bool> has_begun_{false};
  ProcessState state_ = ProcessState::kSpare;  // used by begin() and run()
  std::unique_ptr<TlsRelay> first_;            // of the first connection
  std::thread first_thread_;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::string why_ended_ GUARDED_BY(mutex_);
  bool gone_ GUARDED_BY(mutex_) = false;
  std::uint64_t reported_ GUARDED_BY(mutex_) = 0;    // the highest number of a report
  std::uint64_t asked_ GUARDED_BY(mutex_) = 0;       // and of a question
  std::uint64_t unanswered_ GUARDED_BY(mutex_) = 0;  // questions
  StatusReport report_ GUARDED_BY(mutex_);
  std::set<TlsRelay*> relays_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> requests_running_{0};
  Worker requests_{on_failure(), 4};  // does what the process is not allowed to
  std::atomic<std::size_t> dialed_relays_{0};
  Worker relay_threads_{on_failure(), kRelaysMax};
  std::atomic<std::size_t> dials_running_{0};
  std::stop_source ending_;                   // ends dials
  Worker dials_{on_failure(), kDialThreads};  // last, because they begin relays
};

}  // namespace remotecl::server
