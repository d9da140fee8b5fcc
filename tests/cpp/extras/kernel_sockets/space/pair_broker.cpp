#include "extras/kernel_sockets/space/pair_broker.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace remotecl::testing {

using server::SocketAddress;

int PairBroker::give(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return -errno;
  MutexLock lock(mutex_);
  kept_.emplace_back(ends[1]);
  if (kept_.size() > 64) kept_.erase(kept_.begin());
  return ends[0];
}

int PairBroker::connect(const SocketAddress& address) {
  if (address.port == 1) return -EACCES;
  return give(address.kind == SocketAddress::Kind::kUdp ? SOCK_DGRAM : SOCK_STREAM);
}

int PairBroker::bind(const SocketAddress& address, int backlog, std::uint16_t& port) {
  port = static_cast<std::uint16_t>(backlog);
  return connect(address);
}

int PairBroker::accept(int) {
  {
    MutexLock lock(mutex_);
    if (offered_ == 0) return -EAGAIN;
    if (--offered_ % 8 == 7) return -EMFILE;
  }
  return give(SOCK_STREAM);
}

int PairBroker::resolve(const SocketAddress& address, server::SocketPeer& peer) {
  if (address.port == 1) return -EACCES;
  peer.ip.fill(static_cast<std::uint8_t>(address.port));
  peer.port = address.port;
  return 0;
}

void PairBroker::write(std::size_t which, std::size_t size) {
  static constexpr std::array<std::byte, 8192> kBytes{};
  MutexLock lock(mutex_);
  if (kept_.empty()) return;
  const server::Descriptor& socket = kept_[which % kept_.size()];
  static_cast<void>(::send(socket.get(), kBytes.data(), std::min(size, kBytes.size()), MSG_NOSIGNAL | MSG_DONTWAIT));
}

void PairBroker::read(std::size_t which) {
  std::array<std::byte, 8192> bytes;
  MutexLock lock(mutex_);
  if (kept_.empty()) return;
  static_cast<void>(::recv(kept_[which % kept_.size()].get(), bytes.data(), bytes.size(), MSG_DONTWAIT));
}

void PairBroker::close(std::size_t which) {
  MutexLock lock(mutex_);
  if (!kept_.empty()) kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(which % kept_.size()));
}

void PairBroker::offer(std::size_t connections) {
  MutexLock lock(mutex_);
  offered_ += connections;
}

}  // namespace remotecl::testing
