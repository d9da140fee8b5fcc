#include "server/isolation/tls_relay.h"

#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>

#include "runtime/transport/tcp/stream_connection.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

constexpr std::size_t kBufferSize = 256u << 10;  // for each direction

void pass_on(Connection& from, Connection& to) {
  // Left untouched, so that a connection which carries little takes little memory.
  const auto bytes = std::make_unique_for_overwrite<std::byte[]>(kBufferSize);
  for (std::size_t count = 0; (count = from.read_some({bytes.get(), kBufferSize})) != 0;) {
    if (!to.write(Bytes(bytes.get(), count))) return;
  }
}

}  // namespace

TlsRelay::TlsRelay(std::unique_ptr<Connection>& outer) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::system_category(), "socketpair");
  }
  inner_ = std::make_unique<StreamConnection>(ends[0]);
  end_ = Descriptor(ends[1]);
  outer_ = std::move(outer);
}

void TlsRelay::run() {
  std::thread inwards;
  try {
    inwards = std::thread([this] {
      pass_on(*outer_, *inner_);
      // The process reads what is left up to the end, and may still answer.
      ::shutdown(inner_->wait_handle(), SHUT_WR);
    });
  } catch (const std::system_error& error) {
    log_error("no thread for a TLS connection: {}; it is closed", error.what());
    return shutdown();
  }
  pass_on(*inner_, *outer_);
  shutdown();
  inwards.join();
}

void TlsRelay::shutdown() {
  outer_->shutdown();
  inner_->shutdown();
}

}  // namespace remotecl::server
