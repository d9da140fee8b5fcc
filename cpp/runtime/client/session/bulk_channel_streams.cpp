// How a channel gets the connection, or the connections, that it goes over.
#include <algorithm>

#include "runtime/client/session/bulk_channel.h"
#include "runtime/client/support/fork_guard.h"
#include "runtime/handshake/bulk_upgrade.h"
#include "runtime/handshake/channels.h"
#include "runtime/handshake/handshake.h"
#include "runtime/handshake/stripes.h"

namespace remotecl {

BulkChannel::~BulkChannel() {
  end_threads();
  for (const int descriptor : given_up_in_forks_) forget_in_child(descriptor);
}

void BulkChannel::end_threads() {
  ended_ = true;
  std::thread sender, reader;
  {
    const MutexLock lock(sender_mutex_);
    sender.swap(sender_);
    sender_wanted_.notify_all();
  }
  {
    const MutexLock lock(reader_mutex_);
    reader.swap(reader_thread_);
    reader_changed_.notify_all();
  }
  if (sender.joinable()) sender.join();
  if (reader.joinable()) reader.join();
}

void BulkChannel::give_up_in_forks(int descriptor) {
  given_up_in_forks_.push_back(descriptor);
  give_up_in_child(descriptor);
}

unsigned BulkChannel::connect(const Joining& joining) {
  const std::uint64_t resumable = joining.reconnector != nullptr ? kFeatureResumable : 0;
  const unsigned wanted = number_ == 0 ? bulk_channels(kBulkChannelsMax) : 1;
  const std::uint64_t features = bulk_features() | stripes_features(joining.streams) | resumable |
                                 features_of_channel(number_) | features_of_channel_count(wanted);
  const Deadline deadline = Patience::of_server(joining.window);
  auto first = joining.dialer.connect(joining.timeout, deadline);
  const int descriptor = first->wait_handle();
  const Invitation& session = joining.invitation;
  const Welcome welcome = handshake_for_session(*first, joining.address, Role::kBulk, session, features, deadline);
  const auto join = [&](std::unique_ptr<Connection> alone) {
    const Secret key = stripes_key(session, Role::kBulk, features, welcome.features);
    return join_stripes(unshared(std::move(alone)), joining.address, {session.session, session.epoch, key},
                        stripes_of(welcome.features), unshared_dial(joining.dialer));
  };
  StreamCarrier carrier = upgrade_bulk(std::move(first), joining.address,
                                       {BulkEnd::Side::kConnects, welcome.features & features, joining.window, join});
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
  BulkLine line = open_bulk(std::move(carrier), {joining.window, std::move(hooks), false, unshared});
  transport_ = std::move(line.transport);
  lends_ = transport_->keeps_lent();
  stream_ = line.stream;
  if (stream_ == nullptr) return;
  joining.reconnector->add(*stream_, Role::kBulk, number_, line.is_doorbell ? 0 : stripes_features(joining.streams));
}

ResumableConnection::Hooks BulkChannel::hooks_of(Reconnector& reconnector) {
  ResumableConnection::Hooks hooks;
  hooks.broken = [&reconnector] { reconnector.broken(); };
  hooks.acknowledge = [this](std::uint64_t received) {
    received_bytes_ = received;
    is_due_ = true;
  };
  return hooks;
}

}  // namespace remotecl
