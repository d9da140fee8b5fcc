#include "server/daemon/systemd_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "server/util/descriptor.h"
#include "server/util/log.h"

namespace remotecl::server {

// The protocol of sd_notify(3): a datagram to the socket that the environment names.
void notify_service_manager() {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  const char* const started = std::getenv("SYSTEMD_EXEC_PID");
  // A service may have started this daemon as a helper. That service is not ready just because the daemon is.
  if (path == nullptr || started == nullptr || started != std::to_string(::getpid())) return;
  constexpr std::string_view kReady = "READY=1";
  const std::size_t length = std::strlen(path);
  sockaddr_un address{AF_UNIX, {}};
  if (length == 0 || length > sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = 0;  // an abstract name, outside of the file system
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::sendto(socket.get(), kReady.data(), kReady.size(), 0, reinterpret_cast<const sockaddr*>(&address),
               static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length)) < 0) {
    log_warning("cannot tell systemd that it listens: {}", std::strerror(errno));
  }
}

}  // namespace remotecl::server
