// How a session connects, and connects again when it has lost a connection.
#include "runtime/client/fork.h"
#include "runtime/client/notice.h"
#include "runtime/client/session.h"
#include "runtime/greeting/stripes.h"
#include "runtime/transport/copy_helper.h"
#include "runtime/transport/striped_connection.h"
#include "runtime/transport/tcp.h"

namespace remotecl {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{5000};

// For as long as it lives a child that is forked off must not keep it open.
std::shared_ptr<Connection> unshared(std::unique_ptr<Connection> connection) {
  const int descriptor = connection->wait_handle();
  give_up_in_child(descriptor);
  return {connection.release(), [descriptor](Connection* gone) {
            forget_in_child(descriptor);
            delete gone;
          }};
}

}  // namespace

void Session::connect() {
  const std::uint64_t resumable = window_.count() != 0 ? kFeatureResumable : 0;
  auto control = dialer_.connect(kConnectTimeout);
  if (const PeerCertificate* const shown = control->peer_certificate()) key_ = shown->key;
  const std::uint64_t features = resumable | (is_exclusive_ ? kFeatureExclusive : 0);
  welcome_ = greet_server(*control, address_, dialer_.token(), Role::kControl, features);
  const Invitation invitation{welcome_.session, welcome_.epoch, welcome_.secret};
  numeric_address_ = tcp::peer_address(*control);
  const Dial dial = [this](std::chrono::milliseconds timeout, Deadline deadline) {
    return unshared(dialer_.connect(timeout, deadline));
  };
  if ((welcome_.features & kFeatureResumable) == 0) {
    given_up_in_forks_.push_back(control->wait_handle());
    control_ = std::move(control);
  } else {
    reconnector_ = std::make_unique<Reconnector>(address_, invitation, window_, kConnectTimeout, dial, notice);
    control_ = make_stream(unshared(std::move(control)), StreamKind::kControl);
    reconnector_->add(*streams_.control(), Role::kControl);
  }
  writer_ = std::make_shared<ControlWriter>(control_);
  connect_bulk(invitation, resumable, dial);
}

void Session::connect_bulk(const Invitation& invitation, std::uint64_t resumable, const Dial& dial) {
  auto bulk = dialer_.connect(kConnectTimeout);
  const std::uint64_t features = bulk_features() | stripes_features() | resumable;
  const Welcome welcome = greet_session(*bulk, address_, Role::kBulk, invitation, features);
  const Connection* const stream = bulk.get();
  const int descriptor = bulk->wait_handle();
  bulk = share_memory(std::move(bulk), address_, welcome);
  if (bulk.get() != stream) {
    given_up_in_forks_.push_back(descriptor);
    if (bulk->wait_handle() != descriptor) given_up_in_forks_.push_back(bulk->wait_handle());
    bulk_ = std::move(bulk);
    bulk_streams_ = 0;
    return;
  }
  const Secret key = stripes_key(invitation, Role::kBulk, features, welcome.features);
  auto carriers =
      open_stripes(*bulk, address_, {invitation.session, invitation.epoch, key}, stripes_of(welcome.features), dial);
  bulk_ = unshared(std::move(bulk));
  if (!carriers.empty()) {
    carriers.insert(carriers.begin(), bulk_);
    bulk_streams_ = static_cast<unsigned>(carriers.size());
    bulk_ = std::make_shared<StripedConnection>(std::move(carriers));
  }
  if (reconnector_ == nullptr || (welcome.features & kFeatureResumable) == 0) return;
  bulk_ = make_stream(std::move(bulk_), StreamKind::kBulk);
  reconnector_->add(*streams_.bulk(), Role::kBulk);
}

std::unique_ptr<Connection> Session::make_stream(std::shared_ptr<Connection> carrier, StreamKind kind) {
  ResumableConnection::Hooks hooks;
  hooks.broken = [this] { reconnector_->broken(); };
  hooks.acknowledge = [this, kind](std::uint64_t received) {
    send(ClientReceived{kind, received});
    submit_now();
  };
  auto made = std::make_unique<ResumableConnection>(std::move(carrier), window_, std::move(hooks));
  if (kind == StreamKind::kBulk && std::thread::hardware_concurrency() >= CopyHelper::kCoresMin) made->copy_beside();
  return streams_.add(kind, std::move(made));
}

void Session::handle_received(const ServerReceived& report) {
  if (!streams_.acknowledged(report.stream, report.bytes)) {
    return lose("the server has received more than was sent to it");
  }
  if (report.stream == StreamKind::kBulk) end_received();
}

void Session::wait_for_room() {
  if (is_reading()) return;  // what makes room has yet to be read
  wait([this] { return !streams_.control()->crowded(); });
}

void Session::expect_shutdown() {
  shutdown_expected_ = true;
  streams_.end_when_broken();
}

void Session::leave() {
  if (lost() || streams_.control() == nullptr) return;
  expect_shutdown();
  writer_->send_last(Leave{});
}

}  // namespace remotecl
