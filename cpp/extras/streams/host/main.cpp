// remotecl-plugin-host PLUGIN DEVICE FILTER USER RULE...: started by the plugins' driver in the daemon, by nobody else.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "extras/streams/host/call_server.h"
#include "extras/streams/host/confinement.h"
#include "extras/streams/instance/local_plugin.h"

namespace {

using namespace remotecl::plugins;

constexpr std::chrono::seconds kTimeToClose{2};
constexpr std::int32_t kInvalidDevice = -33;  // CL_INVALID_DEVICE

// Only the socket and the memory of calls stay open, and no program that is started gets them. What the plugin prints
// is discarded.
void close_all_else() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  for (const int descriptor : {kSocketDescriptor, kCallMemoryDescriptor}) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#ifdef SYS_close_range
  ::syscall(SYS_close_range, kCallMemoryDescriptor + 1, ~0u, 0);
#endif
}

// Ends this process kTimeToClose after the driver has gone, so that a call that hangs does not outlive its program or
// the daemon. A sink has that long to close its file.
void end_with_the_driver() {
  std::thread([] {
    pollfd wait{kSocketDescriptor, POLLRDHUP, 0};
    while (::poll(&wait, 1, -1) < 0 || (wait.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0) {
    }
    std::this_thread::sleep_for(kTimeToClose);
    ::_exit(0);
  }).detach();
}

void say(const MessageSocket& socket, const Outcome& outcome) {
  const ReplyMessage reply = make_reply(0, outcome);
  socket.send(std::as_bytes(std::span(&reply, 1)));
}

int serve(const MessageSocket& socket, int device, const Confinement& confinement) {
  void* const memory = ::mmap(nullptr, kCallMemorySize, PROT_READ | PROT_WRITE, MAP_SHARED, kCallMemoryDescriptor, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("its process cannot map the memory of calls");
  const std::string lacks = confine(confinement);
  close_all_else();
  end_with_the_driver();
  const auto plugin = std::make_shared<const LocalPlugin>(confinement.plugin, confinement.rules);
  const auto description = encode(plugin->description());
  if (device >= static_cast<int>(plugin->description().devices.size())) {
    throw std::runtime_error("it has other devices than before: restart the server");
  }
  LocalInstance instance(plugin, static_cast<std::uint32_t>(device < 0 ? 0 : device));
  say(socket, {0, lacks});
  if (!socket.send(description) || device < 0) return 0;
  CallServer(socket, static_cast<std::byte*>(memory), instance).run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("remotecl-server starts this program by itself, for its plugins\n", stderr);
    return 2;
  }
  const MessageSocket socket(kSocketDescriptor);
  try {
    return serve(socket, std::atoi(argv[2]), {argv[1], argv[3], argv[4], {argv + 5, argv + argc}});
  } catch (const std::exception& error) {
    say(socket, {kInvalidDevice, error.what()});
    return 1;
  }
}
