// How a socket of one lane gets a connection of a listener of another one.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "extras/kernel_sockets/space/socket_table.h"
#include "extras/kernel_sockets/space/stream_endpoint.h"

namespace remotecl::server {
namespace {

using Phase = KernelSocket::Phase;

bool has_connection(const KernelSocket::Listening& listening) {
  if (listening.pipes) return listening.pipes->has_some();
  pollfd ready{listening.descriptor.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) > 0;
}

}  // namespace

void SocketTable::deliver(std::uint64_t socket, LaneMessage message) {
  const std::uint32_t lane = group_.lane_of(socket);
  if (lane != lane_) return group_.inboxes[lane]->post(std::move(message));
  std::visit([this](auto& content) { handle(content); }, message.content);
}

void SocketTable::accept(std::uint32_t index) {
  KernelSocket& socket = at(index);
  const std::uint32_t listener = socket.words().argument(layout::kFirst);
  const bool may_wait = socket.words().argument(layout::kSecond) == 0;
  const std::uint32_t there = listener & ((1u << layout::kIndexBits) - 1);
  if (there >= group_.shape.sockets) return socket.fail(EINVAL);
  socket.wait(Phase::kAccepting);
  deliver(there, {ConnectionWanted{listener, number_of(index), may_wait}});
}

void SocketTable::handle(const ConnectionWanted& wanted) {
  const std::uint32_t index = wanted.listener & ((1u << layout::kIndexBits) - 1);
  if (layout::handle(index, at(index).generation()) != wanted.listener || at(index).listening() == nullptr) {
    return deliver(wanted.acceptor, {ConnectionGiven{.acceptor = wanted.acceptor, .error = EINVAL}});
  }
  auto& acceptors = at(index).listening()->acceptors;
  // A socket waits once, so an older entry of the same index was closed meanwhile.
  if (acceptors.size() >= group_.shape.sockets) {
    std::erase_if(acceptors, [&wanted](const KernelSocket::Acceptor& acceptor) {
      return static_cast<std::uint32_t>(acceptor.socket) == static_cast<std::uint32_t>(wanted.acceptor);
    });
  }
  acceptors.push_back({wanted.acceptor, wanted.may_wait});
  give_connections(index);
}

void SocketTable::give_connections(std::uint32_t index) {
  KernelSocket& socket = at(index);
  KernelSocket::Listening& listening = *socket.listening();
  auto& acceptors = listening.acceptors;
  std::vector<ConnectionGiven> given;
  while (!acceptors.empty()) {
    const KernelSocket::Acceptor first = acceptors.front();
    std::optional<ConnectionGiven> next;
    if (listening.is_ready) next = take_connection(listening, first.socket);
    if (!next) {
      listening.is_ready = false;
      if (first.may_wait) break;
      next = ConnectionGiven{.acceptor = first.socket, .error = EAGAIN};
    }
    given.push_back(std::move(*next));
    acceptors.pop_front();
  }
  // While no kernel waits for a connection, only polling shows whether one is there.
  if (listening.is_ready) listening.is_ready = has_connection(listening);
  // A kernel that gets a connection may ask at once whether there is one more.
  socket.set_pending(listening.is_ready);
  for (ConnectionGiven& each : given) {
    const std::uint64_t acceptor = each.acceptor;
    deliver(acceptor, {std::move(each)});
  }
}

// Empty if there is none. What is given may be an error.
std::optional<ConnectionGiven> SocketTable::take_connection(const KernelSocket::Listening& listening,
                                                            std::uint64_t acceptor) {
  ConnectionGiven given{.acceptor = acceptor};
  if (listening.pipes) {
    given.pipe = listening.pipes->take();
    if (!given.pipe) return std::nullopt;
  } else {
    int got = -ECONNABORTED;
    while (got == -ECONNABORTED || got == -EINTR) got = group_.hooks.broker->accept(listening.descriptor.get());
    if (got == -EAGAIN) return std::nullopt;
    given.error = std::max(-got, 0);
    given.descriptor = Descriptor(std::max(got, -1));
  }
  return given;
}

// A connection for a socket that was closed meanwhile is closed.
void SocketTable::handle(ConnectionGiven& given) {
  KernelSocket* const socket = find(given.acceptor);
  if (socket == nullptr || socket->phase() != Phase::kAccepting || socket->is_closing()) return;
  int error = given.error;
  if (error == 0 && !count(*socket)) error = EMFILE;
  if (error == 0 && !given.pipe && !watch(given.descriptor.get(), static_cast<std::uint32_t>(given.acceptor))) {
    error = EMFILE;
  }
  if (error != 0) {
    socket->fail(error);
  } else if (given.pipe) {
    given.pipe->attach(inbox_, given.acceptor);
    socket->open(std::move(given.pipe));
  } else {
    socket->open(std::make_unique<StreamEndpoint>(std::move(given.descriptor)));
  }
}

void SocketTable::stop_listening(KernelSocket& socket) {
  const std::unique_ptr<KernelSocket::Listening> listening = take_listening(socket);
  for (const KernelSocket::Acceptor& acceptor : listening->acceptors) {
    deliver(acceptor.socket, {ConnectionGiven{.acceptor = acceptor.socket, .error = EINVAL}});
  }
}

std::unique_ptr<KernelSocket::Listening> SocketTable::take_listening(KernelSocket& socket) {
  std::unique_ptr<KernelSocket::Listening> listening = socket.stop_listening();
  if (listening->pipes) {
    group_.hooks.names->remove(listening->name, *listening->pipes);
    listening->pipes->close();
  }
  return listening;
}

}  // namespace remotecl::server
