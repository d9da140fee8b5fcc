#include "shared_memory_peer.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <span>
#include <stdexcept>

#include "runtime/transport/shared_memory_connection.h"
#include "runtime/transport/tcp.h"

namespace remotecl {

using namespace std::chrono_literals;

std::unique_ptr<Connection> offer_memory(std::unique_ptr<Connection> doorbell, std::size_t ring_bytes) {
  auto segment = SharedMemorySegment::create(ring_bytes);
  std::uint64_t answer = 0;
  if (!segment || !doorbell->write(std::as_bytes(std::span(&segment->offer(), 1))) ||
      !doorbell->read_exactly(std::as_writable_bytes(std::span(&answer, 1))) || !segment->confirm(answer)) {
    return nullptr;
  }
  return std::make_unique<SharedMemoryConnection>(std::move(segment), std::move(doorbell));
}

std::unique_ptr<Connection> accept_memory(std::unique_ptr<Connection> doorbell) {
  SharedMemoryOffer offer;
  if (!doorbell->read_exactly(std::as_writable_bytes(std::span(&offer, 1)))) return nullptr;
  auto segment = SharedMemorySegment::open(offer);
  const std::uint64_t answer = segment ? segment->answer() : 0;
  if (!doorbell->write(std::as_bytes(std::span(&answer, 1))) || !segment) return nullptr;
  return std::make_unique<SharedMemoryConnection>(std::move(segment), std::move(doorbell));
}

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
  connection_ = offer_memory(listener.accept(), ring_bytes);
  if (!connection_) throw std::runtime_error("no shared memory with another process");
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
