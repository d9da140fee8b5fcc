#include "extras/kernel_sockets/space/kernel_socket.h"

#include <cerrno>
#include <utility>

namespace remotecl::server {

KernelSocket::KernelSocket(const SlotWords& words, std::uint32_t ring_bytes) : words_(words), ring_bytes_(ring_bytes) {
  words_.publish(layout::kGeneration, generation_);
}

void KernelSocket::reply(std::int32_t value) {
  words_.publish(layout::kValue, static_cast<std::uint32_t>(value));
  words_.publish(layout::kReply, taken_);
}

void KernelSocket::connect_with(Descriptor socket) {
  descriptor_ = std::move(socket);
  phase_ = Phase::kConnecting;
}

void KernelSocket::open(std::unique_ptr<Endpoint> endpoint) {
  send_ring_ = words_.send_ring(ring_bytes_);
  receive_ring_ = words_.receive_ring(ring_bytes_);
  endpoint_ = std::move(endpoint);
  may_read_ = may_write_ = true;
  phase_ = Phase::kOpen;
  set(layout::kConnected);
}

void KernelSocket::open_datagrams(Descriptor socket, std::uint16_t port) {
  auto endpoint = std::make_unique<DatagramEndpoint>(std::move(socket));
  datagrams_ = endpoint.get();
  words_.publish(layout::kPort, port);
  state_ |= layout::kDatagram;
  open(std::move(endpoint));
}

void KernelSocket::listen(std::unique_ptr<Listening> listening, std::uint16_t port) {
  listening_ = std::move(listening);
  phase_ = Phase::kListening;
  words_.publish(layout::kPort, port);
  set(layout::kListening);
}

void KernelSocket::set_pending(bool has_some) {
  const std::uint32_t state = has_some ? state_ | layout::kPending : state_ & ~std::uint32_t{layout::kPending};
  if (state == state_) return;
  state_ = state;
  words_.publish(layout::kState, state_);
}

void KernelSocket::fail(int error) {
  endpoint_.reset();
  datagrams_ = nullptr;
  descriptor_.close();
  phase_ = Phase::kFailed;
  words_.publish(layout::kError, static_cast<std::uint32_t>(error));
  set(layout::kFailed);
}

void KernelSocket::stop() {
  endpoint_.reset();
  datagrams_ = nullptr;
  descriptor_.close();
  listening_.reset();
  set(layout::kStopped);
}

int KernelSocket::watched() const {
  if (endpoint_) return endpoint_->descriptor();
  return listening_ ? listening_->descriptor.get() : descriptor_.get();
}

void KernelSocket::becomes_ready(bool to_read, bool to_write, bool hung_up) {
  may_read_ |= to_read || hung_up;
  may_write_ |= to_write || hung_up;
}

KernelSocket::Bytes KernelSocket::move(Clock::time_point now) {
  Bytes moved;
  const std::uint32_t head = send_ring_.head();
  if (!cannot_send_) {
    if (!send_ring_.look(words_.send_tail())) {
      fail(EPROTO);
      return moved;
    }
    if (may_write_ && send_ring_.filled() != 0) moved.sent = send();
  }
  // An empty datagram moves the position, but no byte.
  if (send_ring_.head() != head) {
    words_.publish(layout::kSendHead, send_ring_.head());
    moved_ = now;
  }
  if (phase_ == Phase::kOpen && wants_shutdown_ && (send_ring_.filled() == 0 || cannot_send_)) {
    wants_shutdown_ = false;
    endpoint_->shutdown();
  }
  if (phase_ == Phase::kOpen && may_read_ && !is_closing_) {
    if (receive_ring_.look(words_.receive_head())) {
      moved.received = receive();
    } else {
      fail(EPROTO);
    }
  }
  return moved;
}

std::uint32_t KernelSocket::send() {
  const Moved moved = endpoint_->send(send_ring_);
  if (moved.is_blocked) may_write_ = false;
  if (moved.error == EPROTO || moved.error == EACCES) {
    fail(moved.error);
  } else if (moved.error != 0) {
    // What the peer has sent before may still be read.
    cannot_send_ = true;
    words_.publish(layout::kError, static_cast<std::uint32_t>(moved.error));
    set(layout::kFailed);
  }
  return moved.bytes;
}

std::uint32_t KernelSocket::receive() {
  if (receive_ring_.room() == 0) return 0;
  const std::uint32_t tail = receive_ring_.tail();
  const Moved moved = endpoint_->receive(receive_ring_);
  if (receive_ring_.tail() != tail) words_.publish(layout::kReceiveTail, receive_ring_.tail());
  if (moved.is_blocked) may_read_ = false;
  if (moved.has_ended) {
    may_read_ = false;
    set(layout::kEndOfStream);
  }
  if (moved.error != 0) fail(moved.error);
  return moved.bytes;
}

void KernelSocket::look_for_peer() {
  const int error = phase_ == Phase::kOpen ? endpoint_->loss() : 0;
  if (error != 0) fail(error);
}

void KernelSocket::close(Clock::time_point now) {
  is_closing_ = true;
  moved_ = now;
  set(layout::kClosing);
}

bool KernelSocket::has_drained(Clock::time_point now) const {
  if (phase_ == Phase::kOpening) return false;  // the broker's socket is on its way
  if (phase_ != Phase::kOpen) return true;
  return cannot_send_ || send_ring_.filled() == 0 || now - moved_ > kLinger;
}

void KernelSocket::release() {
  endpoint_.reset();
  datagrams_ = nullptr;
  descriptor_.close();
  listening_.reset();
  may_read_ = may_write_ = cannot_send_ = wants_shutdown_ = is_closing_ = false;
  is_counted = is_resolving = false;
  phase_ = Phase::kFree;
  words_.publish(layout::kReceiveTail, 0);
  words_.publish(layout::kSendHead, 0);
  words_.publish(layout::kError, 0);
  words_.publish(layout::kPort, 0);
  generation_ = (generation_ + 1) & ~layout::kClosed;
  words_.publish_state(state_ = 0, generation_);
}

}  // namespace remotecl::server
