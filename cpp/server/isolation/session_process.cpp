#include "server/isolation/session_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/new_thread.h"
#include "runtime/handshake/bulk_offload.h"
#include "runtime/transport/tcp/tcp.h"
#include "server/handlers/dispatch.h"
#include "server/isolation/child_process.h"
#include "server/isolation/daemon_link_dialer.h"
#include "server/isolation/daemon_requests.h"
#include "server/isolation/daemon_store.h"
#include "server/isolation/driver_cache.h"
#include "server/isolation/session_channel.h"
#include "server/session/session_host.h"
#include "server/status/load_sampler.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

// The user's place for a session stays taken while the process saves builds after the session's end.
constexpr std::chrono::seconds kSaveTime{2};

// One session, controlled by the daemon through the channel. The channel's thread gives each connection a
// thread of its own.
class SessionProcess {
 public:
  // `store`: null where the daemon has none. `rdma`: null where channels are not accepted.
  SessionProcess(SessionChannel& channel, DaemonRequests& requests, NativeDriver& driver, const PeerRules& peers,
                 DriverCache* store, BulkOffloadAcceptor* rdma, const ArgumentProvider& arguments)
      : channel_(channel),
        requests_(requests),
        driver_(driver),
        peers_(peers),
        store_(store),
        rdma_(rdma),
        arguments_(arguments) {}

  // `failures`: the result of contain(), one line each.
  void run(std::string_view failures) {
    channel_.send(PacketType::kReady, ReadyMessage{failures});
    while (auto packet = channel_.receive()) {
      if (!host_) {
        guarded([&] { take(*packet); });
        continue;
      }
      try {
        take(*packet);
      } catch (const std::exception& error) {  // no reason to end the session
        log_error("cannot do what the daemon asks: {}", error.what());
      }
    }
    // The daemon closes the session, or has ended.
    requests_.stop();
    if (!host_) std::_Exit(0);
    host_->close();
    session_.join();
  }

 private:
  // What the process lacks ends its session, and the client learns what it was.
  template <class Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      end(std::string("the server's process of this session cannot go on: ") + error.what());
    }
  }

  void take(SessionChannel::Packet& packet) {
    if (packet.type == PacketType::kBegin && !host_) return begin(std::move(packet));
    if (!host_) return;
    switch (packet.type) {
      case PacketType::kFurther:
        return further(std::move(packet));
      case PacketType::kAsk:
        return answer(packet);
      case PacketType::kDone:
        return requests_.done(std::move(packet));
      case PacketType::kDialed:
        return requests_.dialed(std::move(packet));
      case PacketType::kKick:
        return kick(packet);
      case PacketType::kWatchLoads:
        return watch_loads(packet);
      case PacketType::kLoads:
        return take_loads(packet);
      default:
        return;
    }
  }

  // Returns nothing if too many connections are in their handshake.
  std::optional<IncomingConnection> incoming(const ConnectionFields& message, Descriptor& socket) {
    auto connection = tcp::adopt(socket.release(), message.kind);
    auto slot = pending_handshakes_.enter(*connection, message.from());
    if (!slot) return std::nullopt;
    return IncomingConnection{std::move(connection), std::move(*slot), message.deadline(), message.from(),
                              message.hello};
  }

  void begin(SessionChannel::Packet packet) {
    if (packet.lacks_descriptors) throw std::system_error(EMFILE, std::system_category());
    const auto shared = std::make_shared<SessionChannel::Packet>(std::move(packet));
    BeginMessage message;
    if (!shared->read(message) || shared->descriptors.size() != 3) return;
    try {
      // Ends the process when the driver does not let go of the session.
      host_ = std::make_unique<SessionHost>(
          handler_table(), driver_, refusals_, message.epoch, peers_,
          [this](const LinkAsker&) { return Ref<LinkDialer>(make_ref<DaemonLinkDialer>(requests_)); },
          [this](Session& session) { end(session.lifetime().end_reason()); }, store_, rdma_, arguments_);
      host_->loads().exchange(
          [this](bool wanted) { channel_.deliver(PacketType::kWatchLoads, WatchLoads{wanted ? 1u : 0u}); });
      session_ = new_thread([this, shared] { guarded([&] { serve(*shared); }); });
    } catch (const std::exception& error) {  // nobody else would answer the client
      const auto connection = tcp::adopt(shared->descriptors[0].release(), message.connection.kind);
      refuse(*connection, message.epoch, WelcomeStatus::kBusy,
             std::string("the process for its session cannot go on: ") + error.what());
      throw;
    }
  }

  void serve(SessionChannel::Packet& packet) {
    BeginMessage message;
    packet.read(message);
    const LogScope scope(message.session);
    auto connection = incoming(message.connection, packet.descriptors[0]);
    auto granted = grant(message, std::move(packet.descriptors[1]), std::move(packet.descriptors[2]));
    connection->handshake_slot.leave();
    host_->serve_session(*connection, {message.session, message.secret, message.shown, message.features},
                         std::move(granted));
    report_end(host_->why_ended(message.session));
    // Whatever the driver does now, the process has not crashed.
    if (store_ != nullptr) store_->save();
    host_->save_all(std::chrono::steady_clock::now() + kSaveTime);
    exit();
  }

  [[noreturn]] void end(const std::string& why) {
    report_end(why);
    exit();
  }

  void report_end(const std::string& why) { send_report(PacketType::kEnded, UINT64_MAX, LoadSampler::kPatience, why); }

  [[noreturn]] static void exit() {
    flush_log();
    // Skips the driver's cleanup at exit: nothing needs it, and it may take long.
    std::_Exit(0);
  }

  void kick(const SessionChannel::Packet& packet) {
    KickMessage message;
    if (!packet.read(message)) return;
    const auto kick = [this, session = message.session, text = std::string(message.text)] {
      host_->kick(session, nullptr, text);
    };
    try {
      std::thread(kick).detach();  // it may wait for the client
    } catch (const std::system_error&) {
      kick();
    }
  }

  void watch_loads(const SessionChannel::Packet& packet) {
    WatchLoads message{};
    if (!packet.read(message)) return;
    if (message.is_wanted == 0) return host_->loads().watch_from_elsewhere(nullptr);
    host_->loads().watch_from_elsewhere(
        [this](auto changes) { return channel_.send(PacketType::kLoads, DeviceLoads{changes}); });
  }

  void take_loads(const SessionChannel::Packet& packet) {
    DeviceLoads message;
    if (packet.read(message)) host_->loads().set_elsewhere(loads_of(message));
  }

  std::unique_ptr<Grant> grant(const BeginMessage& message, Descriptor allowances, Descriptor claims) {
    const std::size_t devices = driver_.devices().size();
    Limits of_session = message.of_session.limits();
    of_session.devices.emplace();
    for (std::size_t i = 0; i < message.devices.size(); ++i) of_session.devices->push_back(message.devices[i]);
    const SharedLayout layout{MemoryQuota::counters(devices)};
    auto allowance = make_ref<Allowance>(
        layout.counters, make_ref<Counters>(layout.claims(), std::move(claims), Counters::Writer::kThisProcess),
        make_ref<Counters>(layout.allowances(), std::move(allowances), Counters::Writer::kOther),
        [this](const ShareClaim& claim) {
          return channel_.send(PacketType::kClaim,
                               ClaimMessage{claim.number, claim.counter, claim.spares_some ? 1u : 0u});
        });
    auto user = make_ref<User>(std::string(message.user), message.of_user.limits(), devices, std::move(allowance));
    user->begin_session();
    return std::make_unique<Grant>(std::move(user), of_session, driver_);
  }

  void further(SessionChannel::Packet packet) {
    if (packet.lacks_descriptors) return log_error("a connection ended: there are too many open files");
    try {
      std::thread([this, packet = std::move(packet)]() mutable {
        try {
          serve_further(packet);
        } catch (const std::exception& error) {
          log_error("a connection ended: {}", error.what());
        }
      }).detach();
    } catch (const std::system_error& error) {
      log_error("no thread for a new connection: {}", error.what());
    }
  }

  void serve_further(SessionChannel::Packet& packet) {
    ConnectionFields message;
    if (!packet.read(message) || packet.descriptors.size() != 1) return;
    if (auto connection = incoming(message, packet.descriptors[0])) host_->serve_further(*connection);
  }

  void answer(const SessionChannel::Packet& packet) {
    AskMessage message;
    if (packet.read(message))
      send_report(PacketType::kReport, message.number, std::chrono::seconds(message.patience_s));
  }

  void send_report(PacketType type, std::uint64_t number, std::chrono::seconds patience, std::string_view why = {}) {
    StatusReport status;
    status.devices.resize(driver_.devices().size());
    try {
      if (host_) status = host_->report(Viewer::of_all(), patience);
    } catch (const std::exception&) {  // it lacks something
    }
    const std::vector<std::byte> report = encode(status);
    const ReportMessage message{number, report, why};
    // An answer to the daemon is sent by the thread that receives, which must not wait for the daemon.
    type == PacketType::kEnded ? channel_.deliver(type, message) : channel_.send(type, message);
  }

  SessionChannel& channel_;
  DaemonRequests& requests_;
  NativeDriver& driver_;
  const PeerRules& peers_;
  DriverCache* const store_;
  BulkOffloadAcceptor* const rdma_;
  const ArgumentProvider& arguments_;
  RejectionCounts refusals_;
  PendingHandshakes pending_handshakes_;
  std::unique_ptr<SessionHost> host_;
  std::thread session_;
};

// Closes every descriptor of the daemon's except those that ChildProcess has made for this process.
void close_all_else() {
  ::syscall(SYS_close_range, static_cast<unsigned>(ChildProcess::kChannelDescriptor + 1), ~0u, 0u);
  ::fcntl(ChildProcess::kChannelDescriptor, F_SETFD, FD_CLOEXEC);
}

// Creates in advance the contexts that take a CPU driver a moment. A GPU's context would occupy device
// memory.
void make_contexts(const NativeDriver& driver) {
  cl_int error = CL_SUCCESS;
  for (const auto& device : driver.devices()) {
    if (device->memory().is_in_process()) device->context(error);
  }
}

}  // namespace

int run_session_process(const DeviceSelection& devices, const Containment& containment, const PeerRules& peers,
                        bool has_store, const std::string& rdma, const ProvideArguments& provide) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "remotecl-session");
  close_all_else();
  BulkOffload* const offload = rdma.empty() ? nullptr : bulk_offload();
  if (offload != nullptr) offload->prepare_for_containment();
  std::string failures;
  for (const std::string& failure : contain(containment)) failures += failure + "\n";
  SessionChannel channel{Descriptor(ChildProcess::kChannelDescriptor)};
  DaemonRequests requests(channel);
  SharedMemorySegment::find_through([&requests](const SharedMemoryOffer& offer) { return requests.open(offer); });
  NativeDriver driver(devices);
  make_contexts(driver);
  DaemonStore daemons(requests);
  DriverCache store(daemons, cache_folder(containment.folder));
  const auto acceptor = offload == nullptr ? nullptr : offload->accept_at(rdma);
  const std::unique_ptr<ArgumentProvider> arguments =
      provide([&requests](const std::string& address, int backlog) { return requests.open_socket(address, backlog); });
  SessionProcess(channel, requests, driver, peers, has_store ? &store : nullptr, acceptor.get(), *arguments)
      .run(failures);
  return 0;
}

}  // namespace remotecl::server
