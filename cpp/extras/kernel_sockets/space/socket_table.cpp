#include "extras/kernel_sockets/space/socket_table.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "extras/kernel_sockets/space/pipe.h"
#include "extras/kernel_sockets/space/stream_endpoint.h"

namespace remotecl::server {
namespace {

using Phase = KernelSocket::Phase;

constexpr std::uint32_t kBacklogMax = 4096;
constexpr std::chrono::seconds kPeerInterval{1};

// Why a connection could not be made, or 0.
int pending_error(const Descriptor& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

}  // namespace

SocketTable::SocketTable(LaneGroup& group, std::uint32_t lane)
    : group_(group), lane_(lane), inbox_(group.inboxes[lane]) {
  for (std::uint32_t index = lane; index < group.shape.sockets; index += group.size()) {
    sockets_.emplace_back(SlotWords(group.memory, group.shape, group.layout, index), group.shape.ring_bytes);
  }
  taken_.resize(sockets_.size());
}

SocketTable::~SocketTable() { stop(); }

// Adding a descriptor reports what it is ready for, so nothing is lost between two threads.
void SocketTable::join(int epoll, const Ref<WakeEvent>& event) {
  epoll_ = epoll;
  inbox_->belongs_to(event);
  for (const std::uint32_t position : in_use_) {
    KernelSocket& socket = sockets_[position];
    if (socket.watched() >= 0 && !watch(socket.watched(), index_of(position))) socket.fail(EMFILE);
  }
}

void SocketTable::leave() {
  for (const std::uint32_t position : in_use_) {
    const int descriptor = sockets_[position].watched();
    if (descriptor >= 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
  }
}

KernelSocket* SocketTable::find(std::uint64_t number) {
  const auto index = static_cast<std::uint32_t>(number);
  if (index >= group_.shape.sockets || at(index).generation() != number >> 32) return nullptr;
  return &at(index);
}

bool SocketTable::work(Clock::time_point now, bool moves) {
  bool worked = false;
  if (has_letters()) {
    take_letters();
    worked = true;
  }
  worked |= look_at_requests(now);
  look_for_peers(now);
  worked |= move_all(now, moves);
  if (worked) publish_stats();
  return worked;
}

bool SocketTable::look_at_requests(Clock::time_point now) {
  bool worked = false;
  std::byte* const requests = group_.memory + group_.layout.requests;
  std::uint32_t index = lane_;
  for (std::uint32_t& taken : taken_) {
    const std::uint32_t request = load_shared(requests + 4ull * index);
    if (request != taken) {
      taken = request;
      take_request(index, request, now);
      worked = true;
    }
    index += group_.size();
  }
  return worked;
}

// The system itself reports certain losses; this looks for peers that have not answered for long.
void SocketTable::look_for_peers(Clock::time_point now) {
  if (now - looked_for_peers_ < kPeerInterval) return;
  looked_for_peers_ = now;
  for (const std::uint32_t position : in_use_) sockets_[position].look_for_peer();
}

bool SocketTable::move_all(Clock::time_point now, bool moves) {
  bool worked = false;
  const Clock::duration since_last = now - std::exchange(last_round_, now);
  for (std::size_t i = in_use_.size(); i-- > 0;) {
    KernelSocket& socket = sockets_[in_use_[i]];
    if (!moves && socket.phase() == Phase::kOpen) {
      // Its last bytes may still be unseen in the ring, so it is not freed here.
      if (socket.is_closing()) socket.was_kept_back(since_last);
      continue;
    }
    if (socket.phase() == Phase::kOpen) {
      const auto [sent, received] = socket.move(now);
      worked |= sent != 0 || received != 0;
      bytes_sent_ += sent;
      bytes_received_ += received;
    }
    if (is_ending_ || !socket.is_closing() || !socket.has_drained(now)) continue;
    in_use_[i] = in_use_.back();
    in_use_.pop_back();
    release(socket);
    worked = true;
  }
  return worked;
}

void SocketTable::publish_stats() {
  const std::uint64_t values[] = {in_use_.size(), opened_, bytes_sent_, bytes_received_};
  for (std::size_t i = 0; i < std::size(values); ++i) stats_[i].store(values[i], std::memory_order_relaxed);
}

void SocketTable::take_request(std::uint32_t index, std::uint32_t request, Clock::time_point now) {
  KernelSocket& socket = at(index);
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
  KernelSocket& socket = at(index);
  if (operation != layout::kConnect && operation != layout::kBind && operation != layout::kAccept) {
    socket.reply(-EBADF);
    return;
  }
  if (is_ending_) return socket.reply(-ECANCELED);
  in_use_.push_back(index / group_.size());
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

bool SocketTable::count(KernelSocket& socket) { return socket.is_counted = group_.hooks.account->open_socket(); }

void SocketTable::open(std::uint32_t index, Opener::What what) {
  KernelSocket& socket = at(index);
  const std::uint32_t backlog = std::clamp(socket.words().argument(layout::kFirst), 1u, kBacklogMax);
  const std::optional<SocketAddress> address = address_of(socket);
  if (!address) return socket.fail(EINVAL);
  if (!count(socket)) return socket.fail(EMFILE);
  if (address->kind == SocketAddress::Kind::kKernel) return open_name(index, what, *address, backlog);
  socket.wait(Phase::kOpening);
  group_.opener.begin({number_of(index), what, *address, static_cast<int>(backlog), inbox_});
}

void SocketTable::open_name(std::uint32_t index, Opener::What what, const SocketAddress& address,
                            std::uint32_t backlog) {
  KernelSocket& socket = at(index);
  if (what == Opener::What::kBind) {
    auto listening = std::make_unique<KernelSocket::Listening>();
    listening->pipes = make_ref<PipeListener>(inbox_, number_of(index), backlog);
    listening->name = address.host;
    listening->is_ready = false;
    if (!group_.hooks.names->add(address.host, listening->pipes)) return socket.fail(EADDRINUSE);
    return socket.listen(std::move(listening), 0);
  }
  const Ref<PipeListener> listener = group_.hooks.names->find(address.host);
  if (!listener && group_.hooks.remote_names) {
    socket.wait(Phase::kOpening);
    return group_.hooks.remote_names->connect({address.host, number_of(index), inbox_});
  }
  if (!listener) return socket.fail(ECONNREFUSED);
  const Ref<Pipe> pipe = Pipe::make(group_.hooks.account);
  if (!pipe) return socket.fail(EMFILE);
  pipe->attach(Pipe::End::kConnected, inbox_, number_of(index));
  if (!listener->offer(std::make_unique<PipeEndpoint>(pipe, Pipe::End::kAccepted))) return socket.fail(ECONNREFUSED);
  socket.open(std::make_unique<PipeEndpoint>(pipe, Pipe::End::kConnected));
}

void SocketTable::resolve(std::uint32_t index) {
  KernelSocket& socket = at(index);
  // The library waits for each answer, so a second request is an error. Queuing them would take unbounded memory.
  if (socket.is_resolving) {
    socket.fail(EPROTO);
    return socket.reply(-EPROTO);
  }
  const std::optional<SocketAddress> address = address_of(socket);
  if (!address || address->kind != SocketAddress::Kind::kUdp || socket.datagrams() == nullptr) {
    return socket.reply(-EINVAL);
  }
  socket.is_resolving = true;
  group_.opener.begin({number_of(index), Opener::What::kResolve, *address, 0, inbox_});
}

void SocketTable::take_letters() {
  Inbox::Contents contents;
  inbox_->take(contents);
  for (LaneMessage& message : contents.messages) {
    std::visit([this](auto& content) { handle(content); }, message.content);
  }
  for (const std::uint64_t number : contents.wakes) handle_event(number, EPOLLIN | EPOLLOUT);
}

void SocketTable::handle(BrokerReply& reply) {
  KernelSocket* const socket = find(reply.socket);
  if (socket == nullptr) return;
  const auto index = static_cast<std::uint32_t>(reply.socket);
  if (reply.what == Opener::What::kResolve) {
    socket->is_resolving = false;
    if (reply.error == 0 && socket->datagrams() != nullptr) {
      std::uint32_t words[4];
      std::memcpy(words, reply.peer.ip.data(), sizeof words);
      socket->datagrams()->allow(reply.peer);
      socket->words().publish(layout::kPeerPort, reply.peer.port);
      for (std::uint32_t i = 0; i < 4; ++i) {
        socket->words().publish(static_cast<layout::Line>(layout::kPeerIp + i), words[i]);
      }
    }
    return socket->reply(-reply.error);
  }
  if (socket->phase() != Phase::kOpening) return;
  if (reply.error != 0 || socket->is_closing()) {
    return socket->fail(reply.error != 0 ? reply.error : ECANCELED);
  }
  if (!watch(reply.descriptor.get(), index)) return socket->fail(EMFILE);
  if (reply.kind == SocketAddress::Kind::kUdp) {
    socket->open_datagrams(std::move(reply.descriptor), reply.port);
  } else if (reply.what == Opener::What::kConnect) {
    socket->connect_with(std::move(reply.descriptor));
  } else {
    auto listening = std::make_unique<KernelSocket::Listening>();
    listening->descriptor = std::move(reply.descriptor);
    socket->listen(std::move(listening), reply.port);
  }
}

// A connection for a socket that was closed meanwhile is closed.
void SocketTable::handle(NameFound& found) {
  KernelSocket* const socket = find(found.socket);
  if (socket == nullptr || socket->phase() != Phase::kOpening) return;
  if (found.error != 0 || socket->is_closing()) return socket->fail(found.error != 0 ? found.error : ECANCELED);
  found.pipe->attach(inbox_, found.socket);
  socket->open(std::move(found.pipe));
}

bool SocketTable::watch(int descriptor, std::uint32_t index) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = number_of(index);
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0;
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

void SocketTable::ends_connecting(std::uint32_t index) {
  KernelSocket& socket = at(index);
  if (const int error = pending_error(socket.descriptor())) return socket.fail(error);
  socket.open(std::make_unique<StreamEndpoint>(socket.take_descriptor()));
}

void SocketTable::release(KernelSocket& socket) {
  if (socket.is_counted) group_.hooks.account->close_socket();
  socket.release();
  --closing_;
}

// Includes free sockets, because a kernel may be about to take one.
void SocketTable::end_waits() {
  is_ending_ = true;
  for (KernelSocket& socket : sockets_) socket.end_waits();
}

bool SocketTable::has_unsent() const {
  return std::any_of(in_use_.begin(), in_use_.end(),
                     [this](std::uint32_t position) { return sockets_[position].has_unsent(); });
}

// Those that wait for a listener learn that the network has stopped, not that the listener has gone.
void SocketTable::stop() {
  for (KernelSocket& socket : sockets_) {
    if (socket.listening() != nullptr) take_listening(socket);
    if (socket.is_counted) group_.hooks.account->close_socket();
    socket.is_counted = false;
    socket.stop();
  }
}

}  // namespace remotecl::server
