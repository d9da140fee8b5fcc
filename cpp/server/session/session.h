#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "runtime/protocol/message_buffer.h"
#include "runtime/transport/connection.h"
#include "server/arguments/session_arguments.h"
#include "server/completion/event_poller.h"
#include "server/execution/execution.h"
#include "server/execution/strand.h"
#include "server/peer/peer_table.h"
#include "server/quota/held_memory.h"
#include "server/session/client.h"
#include "server/session/handler_table.h"
#include "server/session/printf_execution.h"
#include "server/session/session_lifetime.h"
#include "server/session/session_objects.h"
#include "server/session/shared.h"
#include "server/status/status_source.h"
#include "server/transfer/bulk_channels.h"
#include "server/transfer/transfer_table.h"
#include "server/util/session_lock.h"
#include "server/util/worker.h"
#include "server/wire/outbox.h"
#include "server/wire/stream_recovery.h"
#include "server/wire/stripe_table.h"

namespace remotecl::server {

// One client. Owned by its host and by whatever has work of it in flight. Threads: the control connection's
// thread reads commands and hands them to the native drivers; channel threads move bulk data; one worker
// builds, another continues where a driver's callback may not, a third runs kernels that print.
class Session final : public Strand, public StatusSource {
 public:
  // `address`: the client's. `is_resumable`: the client will reconnect when it loses a connection.
  Session(const Shared& shared, std::shared_ptr<Connection> control, const Address& address, std::uint64_t id,
          const Secret& secret, std::unique_ptr<Grant> grant, bool is_resumable);
  ~Session() override;

  const Secret& secret() const { return client_.secret(); }
  const Grant& grant() const { return client_.grant(); }
  const Shared& shared() const { return shared_; }
  // The owner of what this session puts into stores; only sessions of the same owner find it.
  std::string stored_owner() const { return "direct " + grant().user().name(); }
  const Ref<SessionCounters>& counters() const { return counters_; }

  // Serves on the control connection's thread until the connection ends. Then waits for this session's native
  // work and frees everything.
  void run();

  // ---- Connections. Any thread.
  BulkChannels& channels() { return channels_; }
  // The streams that a new connection may resume. `channel`: for a bulk connection.
  std::vector<OpenStream> streams(Role role, unsigned channel);
  // The stream of the control connection or of a channel; null if the channel does not exist or the stream is
  // not resumable.
  ResumableConnection* stream(StreamKind kind, unsigned channel);
  // How long to wait for the other end to replace a lost connection.
  std::chrono::milliseconds window() const { return recovery_.window(); }
  // Stores what the client says about itself. A client on this machine is then watched, so that its end is
  // noticed.
  void introduce(Client::Claims claims, std::chrono::milliseconds window);
  // The client is leaving and will not return, so broken streams are not waited for.
  void expect_end();
  // Whether the session watch should call stop_arguments_of_absent() now and then.
  bool has_arguments() const { return arguments_->has_some(); }
  // Kernels that wait for an argument keep a device from others, so their waits end once the client's connection has
  // been broken for a while.
  void stop_arguments_of_absent();

  // ---- Its end. Any thread.
  // A client that misses the text and tries to resume the session gets it then.
  void close(const std::string& text) override;
  const SessionLifetime& lifetime() const { return lifetime_; }

  // ---- For the daemon's status. Any thread.
  const Address& address() const override { return client_.address(); }
  StatusReport::OfSession status() const override;
  std::vector<StatusReport::OfLink> links() override;
  void find_ends() override;

  // ---- For the handlers of messages.
  Outbox& outbox() { return outbox_; }
  StripeTable& stripes() { return stripes_; }
  PeerTable& peers() { return peers_; }
  SessionArguments& arguments() { return *arguments_; }
  EventReporter& reporter() { return execution_.reporter; }
  Worker& builder() { return builder_; }
  Device& device(std::uint32_t index) { return objects_.device(index); }
  Mutex& mutex() RETURN_CAPABILITY(session_lock) { return mutex_; }
  void later(std::function<void()> job) override;
  void post(std::function<void()> job) override;
  SessionObjects& objects() { return objects_; }
  Issuer& issuer() { return execution_.issuer; }
  EventTable& events() { return execution_.events; }
  PeerSignals& signals() { return execution_.signals; }
  PrintfExecution& printf_execution() { return printf_execution_; }
  TransferTable& transfers() { return transfers_; }
  QueueWatch& queue_watch() { return execution_.queue_watch; }

 private:
  struct Control {
    std::shared_ptr<Connection> connection;
    ResumableConnection* stream = nullptr;  // the connection, if it is resumable
  };

  Control make_control(std::shared_ptr<Connection> carrier, bool is_resumable);
  void serve();
  // Tells the client why its session ends, if this side ends it.
  void say(std::string last_words);
  // Returns false if the session is over.
  bool await_turn(DeviceTurn& turn, MessageBuffer& buffer) EXCLUDES(session_lock);
  // Reads what has come while messages wait, within a bound. Returns false if the connection has ended.
  bool read_ahead(MessageBuffer& buffer);
  // Executes the complete messages, until a device has as much work as it should have. Returns true if more are left.
  bool execute_some(MessageBuffer& buffer, EventPoller& poller) REQUIRES(session_lock);
  void execute(std::uint16_t code, Bytes payload) REQUIRES(session_lock);
  void execute_flagged(std::uint16_t code, std::uint16_t flags, Bytes payload) REQUIRES(session_lock);
  void execute_traced(std::uint16_t code, Bytes payload) REQUIRES(session_lock);
  bool run_locked(const std::function<void()>& job) override EXCLUDES(session_lock);
  // `job` with the lock and with a reference to the session.
  std::function<void()> with_session(std::function<void()> job);
  void settle() REQUIRES(session_lock);
  void count_tables() REQUIRES(session_lock);
  void end(const std::string& reason);
  void tear_down();
  Traffic traffic() const;

  const Shared shared_;
  StreamRecovery recovery_;
  StripeTable stripes_;
  const Control control_;
  Client client_;
  SessionLifetime lifetime_;
  const Ref<SessionCounters> counters_;
  const Ref<SessionArguments> arguments_;
  Outbox outbox_;

  Mutex mutex_;
  bool closed_ GUARDED_BY(session_lock) = false;
  SessionObjects objects_;
  Execution execution_;
  TransferTable transfers_;
  BulkChannels channels_;
  Worker builder_{on_failure()};  // compiles
  PeerTable peers_;
  Worker continuations_{on_failure()};
  PrintfExecution printf_execution_;
};

}  // namespace remotecl::server
