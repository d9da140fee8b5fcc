// How a channel gets the connection, or the connections, that it goes over.
#include <algorithm>

#include "runtime/client/session/bulk_channel.h"
#include "runtime/client/session/session.h"
#include "runtime/client/support/fork_guard.h"
#include "runtime/handshake/channels.h"
#include "runtime/handshake/handshake.h"
#include "runtime/handshake/stripes.h"
#include "runtime/transport/shm/shared_memory_connection.h"
#include "runtime/transport/stream/striped_connection.h"

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
  const Welcome welcome =
      handshake_for_session(*first, joining.address, Role::kBulk, joining.invitation, features, deadline);
  const unsigned channels = std::clamp(channel_count_of(welcome.features), 1u, wanted);
  const Connection* const stream = first.get();
  const int descriptor = first->wait_handle();
  first = share_memory(std::move(first), joining.address, welcome, joining.window);
  const bool is_resumable = (welcome.features & resumable) != 0;
  if (first.get() != stream) {
    give_up_in_forks(first->wait_handle());
    if (is_resumable) {
      keep_doorbell(static_cast<SharedMemoryConnection&>(*first), joining);
    } else {
      give_up_in_forks(descriptor);
    }
    connection_ = std::move(first);
    streams_ = 0;
    return channels;
  }
  const Invitation& session = joining.invitation;
  const Secret key = stripes_key(session, Role::kBulk, features, welcome.features);
  auto carriers = open_stripes(*first, joining.address, {session.session, session.epoch, key},
                               stripes_of(welcome.features), unshared_dial(joining.dialer));
  connection_ = unshared(std::move(first));
  if (!carriers.empty()) {
    carriers.insert(carriers.begin(), connection_);
    streams_ = static_cast<unsigned>(carriers.size());
    connection_ = std::make_shared<StripedConnection>(std::move(carriers));
  }
  if (is_resumable) make_resumable(joining);
  return channels;
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

void BulkChannel::make_resumable(const Joining& joining) {
  ResumableConnection::Hooks hooks = hooks_of(*joining.reconnector);
  auto made = std::make_shared<ResumableConnection>(std::move(connection_), joining.window, std::move(hooks));
  stream_ = made.get();
  connection_ = std::move(made);
  lends_ = true;
  joining.reconnector->add(*stream_, Role::kBulk, number_, stripes_features(joining.streams));
}

// What is in the memory stays there while the connection beside it is made again.
void BulkChannel::keep_doorbell(SharedMemoryConnection& memory, const Joining& joining) {
  stream_ = &memory.keep_doorbell(joining.window, hooks_of(*joining.reconnector), unshared);
  joining.reconnector->add(*stream_, Role::kBulk, number_);
}

}  // namespace remotecl
