#include "transport/shm/shared_memory_peer.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "runtime/transport/shm/shared_memory.h"
#include "runtime/transport/shm/shared_memory_connection.h"
#include "runtime/transport/tcp/tcp.h"

namespace remotecl {

using namespace std::chrono_literals;

std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> make_memory_pair(std::size_t ring_bytes) {
  tcp::Listener listener({"127.0.0.1", 0});
  auto near_bell = tcp::connect(listener.address(), 5s);
  auto far_bell = listener.accept();
  auto near = SharedMemorySegment::create(ring_bytes);
  auto far = near ? SharedMemorySegment::open(near->offer()) : nullptr;
  if (!far || !near->confirm(far->answer())) throw std::runtime_error("no shared memory");
  return {std::make_unique<SharedMemoryConnection>(std::move(near), std::move(near_bell)),
          std::make_unique<SharedMemoryConnection>(std::move(far), std::move(far_bell))};
}

MemoryPeer::MemoryPeer(const std::string& task, std::size_t ring_bytes) {
  tcp::Listener listener({"127.0.0.1", 0});
  std::string program = REMOTECL_MEMORY_PEER, port = std::to_string(listener.address().port), what = task;
  char* arguments[] = {program.data(), port.data(), what.data(), nullptr};
  if (::posix_spawn(&process_, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
    throw std::runtime_error("cannot start " + program);
  }
  connection_ = shared_memory::offer(listener.accept(), ring_bytes);
  if (!dynamic_cast<SharedMemoryConnection*>(connection_.get()))
    throw std::runtime_error("no shared memory with another process");
}

MemoryPeer::~MemoryPeer() {
  if (process_ > 0) kill();
}

void MemoryPeer::kill() {
  ::kill(process_, SIGKILL);
  wait();
}

int MemoryPeer::wait() {
  int status = -1;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  return status;
}

}  // namespace remotecl
