// How a channel gets the connection, or the connections, that it goes over.
#include "runtime/client/bulk_channel.h"
#include "runtime/client/fork.h"
#include "runtime/client/session.h"
#include "runtime/greeting/greeting.h"
#include "runtime/greeting/stripes.h"
#include "runtime/transport/copy_helper.h"
#include "runtime/transport/striped_connection.h"

namespace remotecl {

BulkChannel::~BulkChannel() {
  std::thread sender;
  {
    const MutexLock lock(sender_mutex_);
    ended_ = true;
    sender.swap(sender_);
    sender_wanted_.notify_all();
  }
  if (sender.joinable()) sender.join();
  for (const int descriptor : given_up_in_forks_) forget_in_child(descriptor);
}

void BulkChannel::give_up_in_forks(int descriptor) {
  given_up_in_forks_.push_back(descriptor);
  give_up_in_child(descriptor);
}

void BulkChannel::connect(const Joining& joining) {
  const std::uint64_t resumable = joining.reconnector != nullptr ? kFeatureResumable : 0;
  const std::uint64_t features = bulk_features() | stripes_features() | resumable;
  auto first = joining.dialer.connect(joining.timeout);
  const Welcome welcome = greet_session(*first, joining.address, Role::kBulk, joining.invitation, features);
  const Connection* const stream = first.get();
  const int descriptor = first->wait_handle();
  first = share_memory(std::move(first), joining.address, welcome);
  if (first.get() != stream) {
    give_up_in_forks(descriptor);
    if (first->wait_handle() != descriptor) give_up_in_forks(first->wait_handle());
    connection_ = std::move(first);
    streams_ = 0;
    return;
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
  if ((welcome.features & resumable) != 0) make_resumable(joining);
}

void BulkChannel::make_resumable(const Joining& joining) {
  Reconnector& reconnector = *joining.reconnector;
  ResumableConnection::Hooks hooks;
  hooks.broken = [&reconnector] { reconnector.broken(); };
  hooks.acknowledge = [this](std::uint64_t received) {
    received_bytes_ = received;
    is_due_ = true;
  };
  auto made = std::make_shared<ResumableConnection>(std::move(connection_), joining.window, std::move(hooks));
  if (std::thread::hardware_concurrency() >= CopyHelper::kCoresMin) made->copy_beside();
  stream_ = made.get();
  connection_ = std::move(made);
  reconnector.add(*stream_, Role::kBulk);
}

}  // namespace remotecl
