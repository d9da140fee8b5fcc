#include "runtime/client/session/bulk_channel.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "runtime/client/support/fork_guard.h"
#include "runtime/client/support/stderr_notice.h"
#include "runtime/handshake/bulk_upgrade.h"
#include "runtime/handshake/channels.h"
#include "runtime/handshake/handshake.h"
#include "runtime/handshake/rdma_wish.h"
#include "runtime/handshake/stripes.h"

namespace remotecl {

namespace {

// Only the first loss is worth a line: statistics count them.
std::function<void(const RdmaState&)> notice_of_loss(const Address& server) {
  return [name = server.text()](const RdmaState& state) {
    if (state.kind != RdmaState::Kind::kLost || state.losses != 1) return;
    notice(name + ": RDMA is lost, and TCP carries bulk data (" + state.reason + ")");
  };
}

}  // namespace

BulkChannel::BulkChannel(ChannelSession& session, unsigned number)
    : session_(session), number_(number), sender_(session), receiver_(session, *this, number), turn_(session, [this] {
        read_what_is_expected();
      }) {}

BulkChannel::~BulkChannel() {
  sender_.stop();
  turn_.stop();
  for (const int descriptor : given_up_in_forks_) forget_in_child(descriptor);
}

void BulkChannel::shutdown() {
  transport_->shutdown();
  sender_.shutdown();
  turn_.shutdown();
}

void BulkChannel::release() {
  sender_.stop();
  turn_.stop();
  for (const int descriptor : std::exchange(given_up_in_forks_, {})) forget_in_child(descriptor);
  stream_ = nullptr;
  sender_.release();  // borrowed buffers end before the transport
  transport_.reset();
}

// At the end of the stream, the session's reader notices that end too and does the rest.
void BulkChannel::read_what_is_expected() {
  while (turn_.is_expecting()) {
    const std::uint64_t before = received();
    pollfd wait{transport_->wait_handle(), POLLIN, 0};
    if (::poll(&wait, 1, -1) <= 0) continue;
    if (!session_.read_apart(*this)) return transport_->shutdown();
    if (received() != before) session_.wake();
  }
}

void BulkChannel::give_up_in_forks(int descriptor) {
  given_up_in_forks_.push_back(descriptor);
  give_up_in_child(descriptor);
}

unsigned BulkChannel::connect(const Joining& joining) {
  const std::uint64_t resumable = joining.reconnector != nullptr ? kFeatureResumable : 0;
  const unsigned wanted = number_ == 0 ? bulk_channels(kBulkChannelsMax) : 1;
  const RdmaState rdma = rdma_wish(joining.dialer.encrypts());
  const std::uint64_t features = bulk_features() | stripes_features(joining.streams) | resumable |
                                 features_of_channel(number_) | features_of_channel_count(wanted) | rdma_features(rdma);
  const Deadline deadline = Patience::of_server(joining.window);
  auto first = joining.dialer.connect(joining.timeout, deadline);
  const int descriptor = first->wait_handle();
  const Invitation& session = joining.invitation;
  const Welcome welcome = handshake_for_session(*first, joining.address, Role::kBulk, session, features, deadline);
  require_rdma(joining.address, welcome.features);
  const auto join = [&](std::unique_ptr<Connection> alone) {
    const Secret key = stripes_key(session, Role::kBulk, features, welcome.features);
    return join_stripes(unshared(std::move(alone)), joining.address, {session.session, session.epoch, key},
                        stripes_of(welcome.features), unshared_joiner(joining.dialer));
  };
  StreamCarrier carrier = upgrade_bulk(std::move(first), joining.address,
                                       {BulkEnd::Side::kConnects,
                                        welcome.features & features,
                                        joining.window,
                                        join,
                                        rdma_key(session, Role::kBulk, features, welcome.features),
                                        nullptr,
                                        {},
                                        rdma,
                                        notice_of_loss(joining.address)});
  if (carrier.memory != nullptr) {
    give_up_in_forks(carrier.connection->wait_handle());
    if (!carrier.is_resumable) give_up_in_forks(descriptor);
  }
  use(std::move(carrier), joining);
  return std::clamp(channel_count_of(welcome.features), 1u, wanted);
}

void BulkChannel::use(StreamCarrier carrier, const Joining& joining) {
  streams_ = carrier.memory != nullptr ? 0 : static_cast<unsigned>(carrier.connection->streams());
  ResumableConnection::Hooks hooks;
  if (carrier.is_resumable) hooks = hooks_of(*joining.reconnector);
  const std::shared_ptr<OffloadedStream> offloaded = carrier.offloaded;
  BulkLine line = open_bulk(std::move(carrier), {joining.window, std::move(hooks), false, unshared});
  transport_ = std::move(line.transport);
  sender_.use(*transport_);
  receiver_.use(*transport_);
  stream_ = line.stream;
  has_rdma_ = offloaded != nullptr;
  if (has_rdma_) offloaded->start();
  if (stream_ == nullptr) return;
  joining.reconnector->add(*stream_, Role::kBulk, number_, line.is_doorbell ? 0 : stripes_features(joining.streams));
}

ResumableConnection::Hooks BulkChannel::hooks_of(Reconnector& reconnector) {
  ResumableConnection::Hooks hooks;
  hooks.broken = [&reconnector] { reconnector.broken(); };
  hooks.acknowledge = [this](std::uint64_t received) { receiver_.acknowledge_later(received); };
  return hooks;
}

}  // namespace remotecl
