#include "server/network/socket_table.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "server/network/stream_endpoint.h"

namespace remotecl::server {
namespace {

using Phase = KernelSocket::Phase;

constexpr std::uint32_t kBacklogMax = 4096;

// Why a connection could not be made, or 0.
int pending_error(const Descriptor& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

}  // namespace

SocketTable::SocketTable(std::byte* memory, const NetworkShape& shape, const Network::Hooks& hooks, Ref<WakeList> wakes,
                         int epoll)
    : hooks_(hooks),
      wakes_(std::move(wakes)),
      epoll_(epoll),
      opener_(hooks.broker, wakes_),
      requests_(memory + NetworkLayout(shape).requests),
      taken_(shape.sockets) {
  const NetworkLayout layout(shape);
  sockets_.reserve(shape.sockets);
  for (std::uint32_t index = 0; index < shape.sockets; ++index) {
    sockets_.emplace_back(SlotWords(memory, shape, layout, index), shape.ring_bytes);
  }
}

SocketTable::~SocketTable() { stop(); }

KernelSocket* SocketTable::find(std::uint64_t number) {
  const auto index = static_cast<std::uint32_t>(number);
  if (index >= sockets_.size() || sockets_[index].generation() != number >> 32) return nullptr;
  return &sockets_[index];
}

bool SocketTable::work(Clock::time_point now, bool moves) {
  bool worked = false;
  if (opener_.has_results()) {
    take_results();
    worked = true;
  }
  if (!wakes_->is_empty()) {
    take_wakes();
    worked = true;
  }
  for (std::uint32_t index = 0; index < taken_.size(); ++index) {
    const std::uint32_t request = load_shared(requests_ + 4ull * index);
    if (request == taken_[index]) continue;
    take_request(index, request, now);
    worked = true;
  }
  for (std::size_t i = in_use_.size(); i-- > 0;) {
    KernelSocket& socket = sockets_[in_use_[i]];
    if (moves && socket.phase() == Phase::kOpen) {
      const auto [sent, received] = socket.move(now);
      worked |= sent != 0 || received != 0;
      bytes_sent += sent;
      bytes_received += received;
    }
    if (!socket.is_closing() || !socket.has_drained(now)) continue;
    const std::uint32_t index = std::exchange(in_use_[i], in_use_.back());
    in_use_.pop_back();
    release(index);
    worked = true;
  }
  return worked;
}

void SocketTable::take_request(std::uint32_t index, std::uint32_t request, Clock::time_point now) {
  taken_[index] = request;
  KernelSocket& socket = sockets_[index];
  socket.take_request(request);
  const std::uint32_t operation = socket.words().argument(layout::kOperation);
  if (socket.phase() == Phase::kFree) {
    begin(index, operation);
  } else if (socket.is_closing()) {
    socket.reply(-EBADF);
  } else if (operation == layout::kShutdown) {
    const bool can = socket.phase() == Phase::kOpen;
    if (can) socket.shutdown();
    socket.reply(can ? 0 : -ENOTCONN);
  } else if (operation == layout::kClose) {
    if (socket.listening() != nullptr) stop_listening(socket);
    socket.close(now);
    ++closing_;
    socket.reply(0);
  } else if (operation == layout::kResolve) {
    resolve(index);
  } else {
    socket.fail(EPROTO);
    socket.reply(-EPROTO);
  }
}

void SocketTable::begin(std::uint32_t index, std::uint32_t operation) {
  KernelSocket& socket = sockets_[index];
  if (operation != layout::kConnect && operation != layout::kBind && operation != layout::kAccept) {
    socket.reply(-EBADF);
    return;
  }
  in_use_.push_back(index);
  ++opened_;
  switch (operation) {
    case layout::kConnect:
      open(index, Opener::What::kConnect);
      break;
    case layout::kBind:
      open(index, Opener::What::kBind);
      break;
    default:
      accept(index);
  }
  socket.reply(0);
}

std::optional<SocketAddress> SocketTable::address_of(const KernelSocket& socket) const {
  const std::uint32_t size = socket.words().argument(layout::kTextLength);
  if (size > SocketAddress::kTextMax) return {};
  // A copy, which no kernel can change while it is looked at.
  std::string text(size, '\0');
  std::memcpy(text.data(), socket.words().text(), size);
  return parse_socket_address(text);
}

bool SocketTable::count(KernelSocket& socket) { return socket.is_counted = hooks_.account->open_socket(); }

void SocketTable::open(std::uint32_t index, Opener::What what) {
  KernelSocket& socket = sockets_[index];
  const std::uint32_t backlog = std::clamp(socket.words().argument(layout::kFirst), 1u, kBacklogMax);
  const std::optional<SocketAddress> address = address_of(socket);
  if (!address) return socket.fail(EINVAL);
  if (address->kind == SocketAddress::Kind::kKernel) return open_name(index, what, *address, backlog);
  if (!count(socket)) return socket.fail(EMFILE);
  socket.wait(Phase::kOpening);
  opener_.begin({number_of(index), what, *address, static_cast<int>(backlog)});
}

void SocketTable::open_name(std::uint32_t index, Opener::What what, const SocketAddress& address,
                            std::uint32_t backlog) {
  KernelSocket& socket = sockets_[index];
  if (what == Opener::What::kBind) {
    auto listening = std::make_unique<KernelSocket::Listening>();
    listening->pipes = make_ref<PipeListener>(wakes_, number_of(index), backlog);
    listening->name = address.host;
    listening->is_ready = false;
    if (!hooks_.names->add(address.host, listening->pipes)) return socket.fail(EADDRINUSE);
    return socket.listen(std::move(listening), 0);
  }
  const Ref<PipeListener> listener = hooks_.names->find(address.host);
  if (!listener) return socket.fail(ECONNREFUSED);
  const auto pipe = make_ref<Pipe>();
  pipe->attach(Pipe::End::kConnected, wakes_, number_of(index));
  if (!listener->offer(pipe)) return socket.fail(ECONNREFUSED);
  socket.open(std::make_unique<PipeEndpoint>(pipe, Pipe::End::kConnected));
}

void SocketTable::resolve(std::uint32_t index) {
  KernelSocket& socket = sockets_[index];
  const std::optional<SocketAddress> address = address_of(socket);
  if (!address || address->kind != SocketAddress::Kind::kUdp || socket.datagrams() == nullptr) {
    return socket.reply(-EINVAL);
  }
  opener_.begin({number_of(index), Opener::What::kResolve, *address, 0});
}

void SocketTable::take_results() {
  for (Opener::Result& result : opener_.take()) finish(result);
}

void SocketTable::finish(Opener::Result& result) {
  KernelSocket* const socket = find(result.socket);
  if (socket == nullptr) return;
  const auto index = static_cast<std::uint32_t>(result.socket);
  if (result.what == Opener::What::kResolve) {
    if (result.error == 0 && socket->datagrams() != nullptr) {
      std::uint32_t words[4];
      std::memcpy(words, result.peer.ip.data(), sizeof words);
      socket->datagrams()->allow(result.peer);
      socket->words().publish(layout::kPeerPort, result.peer.port);
      for (std::uint32_t i = 0; i < 4; ++i) {
        socket->words().publish(static_cast<layout::Line>(layout::kPeerIp + i), words[i]);
      }
    }
    return socket->reply(-result.error);
  }
  if (socket->phase() != Phase::kOpening) return;
  if (result.error != 0 || socket->is_closing()) {
    return socket->fail(result.error != 0 ? result.error : ECANCELED);
  }
  if (!watch(result.descriptor, index)) return socket->fail(EMFILE);
  if (result.kind == SocketAddress::Kind::kUdp) {
    socket->open_datagrams(std::move(result.descriptor), result.port);
  } else if (result.what == Opener::What::kConnect) {
    socket->connect_with(std::move(result.descriptor));
  } else {
    auto listening = std::make_unique<KernelSocket::Listening>();
    listening->descriptor = std::move(result.descriptor);
    socket->listen(std::move(listening), result.port);
  }
}

bool SocketTable::watch(const Descriptor& descriptor, std::uint32_t index) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = number_of(index);
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor.get(), &event) == 0;
}

void SocketTable::handle_event(std::uint64_t number, std::uint32_t events) {
  KernelSocket* const socket = find(number);
  if (socket == nullptr) return;
  const auto index = static_cast<std::uint32_t>(number);
  if (socket->phase() == Phase::kConnecting) {
    ends_connecting(index);
  } else if (socket->listening() != nullptr) {
    socket->listening()->is_ready = true;
    give_connections(index);
  } else {
    socket->becomes_ready((events & EPOLLIN) != 0, (events & EPOLLOUT) != 0,
                          (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
  }
}

void SocketTable::take_wakes() {
  for (const std::uint64_t number : wakes_->take()) handle_event(number, EPOLLIN | EPOLLOUT);
}

void SocketTable::ends_connecting(std::uint32_t index) {
  KernelSocket& socket = sockets_[index];
  if (const int error = pending_error(socket.descriptor())) return socket.fail(error);
  socket.open(std::make_unique<StreamEndpoint>(socket.take_descriptor()));
}

void SocketTable::accept(std::uint32_t index) {
  KernelSocket& socket = sockets_[index];
  const std::uint32_t listener = socket.words().argument(layout::kFirst);
  const bool may_wait = socket.words().argument(layout::kSecond) == 0;
  const std::uint32_t at = listener & ((1u << layout::kIndexBits) - 1);
  if (at >= sockets_.size() || layout::handle(at, sockets_[at].generation()) != listener ||
      sockets_[at].listening() == nullptr) {
    return socket.fail(EINVAL);
  }
  socket.wait(Phase::kAccepting);
  auto& acceptors = sockets_[at].listening()->acceptors;
  // Those that were closed while they waited.
  if (acceptors.size() >= sockets_.size()) {
    std::erase_if(acceptors, [this](const KernelSocket::Acceptor& acceptor) {
      return sockets_[acceptor.index].generation() != acceptor.generation;
    });
  }
  acceptors.push_back({index, socket.generation(), may_wait});
  give_connections(at);
}

void SocketTable::give_connections(std::uint32_t index) {
  KernelSocket& socket = sockets_[index];
  KernelSocket::Listening& listening = *socket.listening();
  auto& acceptors = listening.acceptors;
  while (!acceptors.empty()) {
    const KernelSocket::Acceptor first = acceptors.front();
    KernelSocket& acceptor = sockets_[first.index];
    const bool is_there =
        acceptor.generation() == first.generation && acceptor.phase() == Phase::kAccepting && !acceptor.is_closing();
    if (is_there && !(listening.is_ready && give_connection(listening, first.index))) {
      listening.is_ready = false;
      if (first.may_wait) break;
      acceptor.fail(EAGAIN);
    }
    acceptors.pop_front();
  }
  socket.set_pending(listening.is_ready);
}

// Returns false if there is none. The acceptor may have failed.
bool SocketTable::give_connection(KernelSocket::Listening& listening, std::uint32_t index) {
  KernelSocket& socket = sockets_[index];
  if (listening.pipes) {
    const Ref<Pipe> pipe = listening.pipes->take();
    if (!pipe) return false;
    pipe->attach(Pipe::End::kAccepted, wakes_, number_of(index));
    socket.open(std::make_unique<PipeEndpoint>(pipe, Pipe::End::kAccepted));
    return true;
  }
  int got = -ECONNABORTED;
  while (got == -ECONNABORTED || got == -EINTR) got = hooks_.broker->accept(listening.descriptor.get());
  if (got == -EAGAIN) return false;
  Descriptor connection(std::max(got, -1));
  if (got < 0) {
    socket.fail(-got);
  } else if (!count(socket) || !watch(connection, index)) {
    socket.fail(EMFILE);
  } else {
    socket.open(std::make_unique<StreamEndpoint>(std::move(connection)));
  }
  return true;
}

void SocketTable::stop_listening(KernelSocket& socket) {
  const std::unique_ptr<KernelSocket::Listening> listening = take_listening(socket);
  for (const KernelSocket::Acceptor& acceptor : listening->acceptors) {
    KernelSocket& waiting = sockets_[acceptor.index];
    if (waiting.generation() == acceptor.generation && waiting.phase() == Phase::kAccepting) waiting.fail(EINVAL);
  }
}

std::unique_ptr<KernelSocket::Listening> SocketTable::take_listening(KernelSocket& socket) {
  std::unique_ptr<KernelSocket::Listening> listening = socket.stop_listening();
  if (listening->pipes) {
    hooks_.names->remove(listening->name, *listening->pipes);
    listening->pipes->close();
  }
  return listening;
}

void SocketTable::release(std::uint32_t index) {
  KernelSocket& socket = sockets_[index];
  if (socket.is_counted) hooks_.account->close_socket();
  socket.release();
  --closing_;
}

// Those that wait for a listener learn that the network has stopped, not that the listener has gone.
void SocketTable::stop() {
  for (KernelSocket& socket : sockets_) {
    if (socket.listening() != nullptr) take_listening(socket);
    if (socket.is_counted) hooks_.account->close_socket();
    socket.is_counted = false;
    socket.stop();
  }
}

}  // namespace remotecl::server
