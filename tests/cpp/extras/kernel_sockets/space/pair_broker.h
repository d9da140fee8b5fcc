#pragma once

#include <cstdint>
#include <vector>

#include "extras/kernel_sockets/space/socket_broker.h"
#include "runtime/base/mutex.h"
#include "server/util/descriptor.h"

namespace remotecl::testing {

// Gives out one end of socket pairs, whatever the address is, and keeps the other one: no socket leads anywhere.
class PairBroker final : public server::SocketBroker {
 public:
  int connect(const server::SocketAddress& address) override;
  int bind(const server::SocketAddress& address, int backlog, std::uint16_t& port) override;
  int accept(int listener) override;
  int resolve(const server::SocketAddress& address, server::SocketPeer& peer) override;

  // Writes so many bytes to one of the ends that it has kept, reads from it, or closes it. `which`: any number.
  void write(std::size_t which, std::size_t size) EXCLUDES(mutex_);
  void read(std::size_t which) EXCLUDES(mutex_);
  void close(std::size_t which) EXCLUDES(mutex_);
  // Listeners have so many connections more.
  void offer(std::size_t connections) EXCLUDES(mutex_);

 private:
  int give(int type) EXCLUDES(mutex_);

  Mutex mutex_;
  std::vector<server::Descriptor> kept_ GUARDED_BY(mutex_);
  std::size_t offered_ GUARDED_BY(mutex_) = 0;
};

}  // namespace remotecl::testing
