#include "runtime/client/session/session_connection.h"

#include <utility>

#include "runtime/base/printable.h"
#include "runtime/client/support/fork_guard.h"
#include "runtime/client/support/stderr_notice.h"
#include "runtime/handshake/handshake.h"
#include "runtime/handshake/stripes.h"
#include "runtime/transport/tcp/tcp.h"

namespace remotecl {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{5000};

}  // namespace

SessionConnection::SessionConnection(const ServerName& server, ChannelSession& session, Submitter& submitter,
                                     const LossState& loss)
    : address_(server.address), window_(reconnect_window()), dialer_(server), loss_(loss), channels_(session) {
  try {
    connect(server, submitter);
    receive_device_list();
  } catch (...) {
    if (writer_ != nullptr) writer_->send_last(Leave{});  // or the server would wait for this side's return
    throw;
  }
  for (const int descriptor : given_up_in_forks_) give_up_in_child(descriptor);
}

SessionConnection::~SessionConnection() {
  for (const int descriptor : given_up_in_forks_) forget_in_child(descriptor);
}

void SessionConnection::connect(const ServerName& server, Submitter& submitter) {
  const std::uint64_t resumable = window_.count() != 0 ? kFeatureResumable : 0;
  auto control = dialer_.connect(kConnectTimeout);
  if (const PeerCertificate* const shown = control->peer_certificate()) key_ = shown->key;
  const std::uint64_t features = resumable | (server.is_exclusive ? kFeatureExclusive : 0);
  welcome_ =
      handshake_with_server(*control, address_, dialer_.token(), Role::kControl, features, Patience::of(window_));
  const Invitation invitation{welcome_.session, welcome_.epoch, welcome_.secret};
  numeric_address_ = tcp::peer_address(*control);
  if ((welcome_.features & kFeatureResumable) == 0) {
    given_up_in_forks_.push_back(control->wait_handle());
    control_ = std::move(control);
  } else {
    reconnector_ =
        std::make_unique<Reconnector>(address_, invitation, window_, kConnectTimeout, unshared_joiner(dialer_), notice);
    control_ = make_stream(unshared(std::move(control)));
    reconnector_->add(*streams_.control(), Role::kControl);
  }
  writer_ = std::make_shared<ControlWriter>(control_, submitter);
  const unsigned bulk_streams_max = server.streams != 0 ? server.streams : bulk_streams();
  channels_.connect({address_, invitation, dialer_, kConnectTimeout, window_, reconnector_.get(), bulk_streams_max});
}

std::unique_ptr<Connection> SessionConnection::make_stream(std::shared_ptr<Connection> carrier) {
  ResumableConnection::Hooks hooks;
  hooks.broken = [this] { reconnector_->broken(); };
  hooks.acknowledge = [this](std::uint64_t received) { acknowledge(received); };
  return streams_.add(StreamKind::kControl,
                      std::make_unique<ResumableConnection>(std::move(carrier), window_, std::move(hooks)));
}

void SessionConnection::acknowledge(std::uint64_t received) {
  if (loss_.lost()) return;
  writer_->send(ClientReceived{StreamKind::kControl, 0, received});
  writer_->submit_now();
}

void SessionConnection::receive_device_list() {
  const Deadline deadline = Patience::of_server(window_);
  control_->set_read_timeout(std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()));
  for (;;) {
    std::uint16_t code = 0;
    Bytes payload;
    const auto next = inbox_.next(code, payload);
    if (next == MessageBuffer::Next::kMessage) {
      SessionError error;
      if (code == SessionError::kCode && Decoder(payload).read(error)) {
        throw ConnectionError(address_.text() + " said: " + printable(error.text));
      }
      if (code != Code::kDeviceList) break;
      device_list_.assign(payload.begin(), payload.end());
      control_->set_read_timeout(std::chrono::milliseconds(0));
      return;
    }
    if (next == MessageBuffer::Next::kBroken) break;
    const MutableBytes space = inbox_.space();
    const std::size_t count = control_->read_some(space);
    if (count == 0) break;
    inbox_.commit(count);
  }
  const bool is_late = std::chrono::steady_clock::now() >= deadline;
  throw ConnectionError(
      address_.text() + " accepted the connection but did not list its devices; " +
      (is_late ? "it is stopped, or very busy: look after its machine, and try again" : "see its log"));
}

std::string SessionConnection::own_reason() const {
  std::string reason = reconnector_ != nullptr ? reconnector_->reason() : "";
  if (reason.empty() && streams_.control() != nullptr) reason = streams_.control()->reason();
  for (const auto& channel : channels_.all()) {
    if (reason.empty() && channel->stream() != nullptr) reason = channel->stream()->reason();
  }
  return reason;
}

std::string SessionConnection::end_of(bool has_vanished, const std::string& name) const {
  if (std::string reason = own_reason(); !reason.empty()) return reason;
  if (has_vanished) return "it does not answer any more; its machine or the network to it is down";
  return "the server closed the " + name;
}

bool SessionConnection::acknowledged(const ServerReceived& report) {
  if (report.stream != StreamKind::kBulk) {
    ResumableConnection* const control = streams_.control();
    return control != nullptr && control->acknowledged(report.bytes);
  }
  BulkChannel* const channel = channels_.find(report.channel);
  ResumableConnection* const stream = channel != nullptr ? channel->stream() : nullptr;
  if (stream == nullptr || !stream->acknowledged(report.bytes)) return false;
  channel->sender().end_received();
  return true;
}

void SessionConnection::end_when_broken() {
  const MutexLock lock(mutex_);
  if (is_released_) return;
  streams_.end_when_broken();
  channels_.end_when_broken();
}

void SessionConnection::shutdown() {
  control_->shutdown();
  channels_.shutdown();
}

void SessionConnection::release() {
  {
    const MutexLock lock(mutex_);
    last_counts_ = counts_so_far();
    if (last_counts_.rdma.channels != 0) last_counts_.rdma = last_counts_.rdma.past();
    is_released_ = true;
  }
  writer_->close();
  if (reconnector_) reconnector_->stop();
  channels_.release();
  for (const int descriptor : std::exchange(given_up_in_forks_, {})) forget_in_child(descriptor);
  // The stream itself stays, because threads may just be asking it whether there is room.
  streams_.control() != nullptr ? streams_.control()->release() : control_.reset();
}

SessionConnection::Counts SessionConnection::counts() const {
  const MutexLock lock(mutex_);
  return is_released_ ? last_counts_ : counts_so_far();
}

SessionConnection::Counts SessionConnection::counts_so_far() const {
  Traffic traffic{control_->bytes_sent(), writer_->messages(), control_->bytes_received(), messages_received_.load()};
  traffic += channels_.traffic();
  return {traffic, channels_.rdma()};
}

}  // namespace remotecl
