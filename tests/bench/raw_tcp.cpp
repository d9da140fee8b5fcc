#include "raw_tcp.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>

#include "measure.h"

namespace remotecl::bench {
namespace {

constexpr size_t kEchoBytes = 64;
// About what an enqueue needs on the wire: a header, ids, a size and a few words.
constexpr size_t kMessageBytes = 100;
constexpr size_t kBatchBytes = size_t{64} * 1024;
constexpr size_t kDiscardBytes = size_t{256} * 1024;

enum class Operation : uint32_t { kSink, kDiscard, kSource, kMessages };

struct Request {
  Operation operation;
  uint32_t reserved = 0;
  uint64_t count;
};

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), std::string("raw TCP: ") + what);
}

bool send_all(int socket, const void* data, size_t size) {
  const auto* at = static_cast<const uint8_t*>(data);
  while (size > 0) {
    const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, size_t size) {
  auto* at = static_cast<uint8_t*>(data);
  while (size > 0) {
    const ssize_t received = recv(socket, at, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    at += received;
    size -= static_cast<size_t>(received);
  }
  return true;
}

void set_no_delay(int socket) {
  const int on = 1;
  if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail("TCP_NODELAY");
}

void serve_echo(int socket) {
  uint8_t message[kEchoBytes];
  while (receive_all(socket, message, sizeof message) && send_all(socket, message, sizeof message)) {
  }
}

bool discard(int socket, uint64_t count) {
  std::vector<uint8_t> window(kDiscardBytes);
  while (count > 0) {
    const size_t size = std::min<uint64_t>(count, window.size());
    if (!receive_all(socket, window.data(), size)) return false;
    count -= size;
  }
  return true;
}

// Walks length-prefixed messages in whatever pieces the socket delivers, as a server has to.
bool parse_messages(int socket, uint64_t count) {
  std::vector<uint8_t> buffer(2 * kBatchBytes);
  size_t begin = 0, end = 0;
  while (count > 0) {
    uint32_t length = 0;
    if (end - begin >= sizeof length) std::memcpy(&length, buffer.data() + begin, sizeof length);
    if (length != 0 && end - begin >= length) {
      begin += length;
      --count;
      continue;
    }
    std::copy(buffer.begin() + begin, buffer.begin() + end, buffer.begin());
    end -= begin;
    begin = 0;
    const ssize_t received = recv(socket, buffer.data() + end, buffer.size() - end, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    end += static_cast<size_t>(received);
  }
  return true;
}

void serve_bulk(int socket) {
  std::vector<uint8_t> memory;
  Request request{};
  while (receive_all(socket, &request, sizeof request)) {
    const uint8_t done = 1;
    if (request.operation == Operation::kMessages) {
      if (!parse_messages(socket, request.count) || !send_all(socket, &done, 1)) return;
      continue;
    }
    if (request.operation == Operation::kDiscard) {
      if (!discard(socket, request.count) || !send_all(socket, &done, 1)) return;
      continue;
    }
    // Whole transfers live in memory of their own size on both sides, as a buffer's bytes do.
    if (memory.size() < request.count) memory.resize(request.count);
    if (request.operation == Operation::kSource) {
      if (!send_all(socket, memory.data(), request.count)) return;
    } else {
      if (!receive_all(socket, memory.data(), request.count) || !send_all(socket, &done, 1)) return;
    }
  }
}

double send_confirmed(int socket, Operation operation, const uint8_t* data, size_t size) {
  const Request request{operation, 0, size};
  uint8_t done = 0;
  const Stopwatch watch;
  if (!send_all(socket, &request, sizeof request)) fail("sink");
  if (!send_all(socket, data, size)) fail("sink");
  if (!receive_all(socket, &done, 1)) fail("sink");
  return watch.seconds();
}

double receive_requested(int socket, uint8_t* data, size_t size) {
  const Request request{Operation::kSource, 0, size};
  const Stopwatch watch;
  if (!send_all(socket, &request, sizeof request)) fail("source");
  if (!receive_all(socket, data, size)) fail("source");
  return watch.seconds();
}

// Calls `transfer` with the number of each part, its first byte and its size, in a thread each.
template <typename Transfer>
double in_parts(size_t count, size_t size, Transfer transfer) {
  const size_t part = size / count;
  std::vector<std::thread> threads;
  const Stopwatch watch;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * part;
    threads.emplace_back(transfer, i, begin, i + 1 == count ? size - begin : part);
  }
  for (std::thread& thread : threads) thread.join();
  return watch.seconds();
}

int accept_peer(int listener) {
  const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) fail("accept");
  set_no_delay(socket);
  return socket;
}

[[noreturn]] void run_child(int listener) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    const int echo = accept_peer(listener);
    // One for bulk data, and later more.
    std::thread([listener] {
      for (;;) std::thread(serve_bulk, accept_peer(listener)).detach();
    }).detach();
    serve_echo(echo);
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = port;
  return address;
}

int connect_to(const sockaddr_in& address) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) fail("socket");
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
  set_no_delay(socket);
  return socket;
}

}  // namespace

RawPeer::RawPeer() : batch_(kBatchBytes) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) fail("socket");
  sockaddr_in address = loopback(0);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (listen(listener, 16) != 0) fail("listen");
  socklen_t length = sizeof address;
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) fail("getsockname");
  child_ = fork();
  if (child_ < 0) fail("fork");
  if (child_ == 0) run_child(listener);
  port_ = address.sin_port;
  echo_ = connect_to(address);
  bulk_ = connect_to(address);
  close(listener);
}

RawPeer::~RawPeer() {
  if (echo_ >= 0) close(echo_);
  if (bulk_ >= 0) close(bulk_);
  for (const int socket : further_) close(socket);
  if (child_ > 0) waitpid(child_, nullptr, 0);
}

double RawPeer::round_trip() {
  uint8_t message[kEchoBytes] = {1};
  const Stopwatch watch;
  if (!send_all(echo_, message, sizeof message)) fail("echo");
  if (!receive_all(echo_, message, sizeof message)) fail("echo");
  return watch.seconds();
}

double RawPeer::send_bulk(const uint8_t* data, size_t size) {
  return send_confirmed(bulk_, Operation::kSink, data, size);
}

void RawPeer::connect_further(size_t connections) {
  while (further_.size() < connections) further_.push_back(connect_to(loopback(port_)));
}

double RawPeer::send_bulk_over(size_t connections, const uint8_t* data, size_t size) {
  connect_further(connections);
  return in_parts(connections, size, [this, data](size_t i, size_t begin, size_t part) {
    send_confirmed(further_[i], Operation::kSink, data + begin, part);
  });
}

double RawPeer::receive_bulk_over(size_t connections, uint8_t* data, size_t size) {
  connect_further(connections);
  return in_parts(connections, size, [this, data](size_t i, size_t begin, size_t part) {
    receive_requested(further_[i], data + begin, part);
  });
}

double RawPeer::send_discarded(const uint8_t* data, size_t size) {
  return send_confirmed(bulk_, Operation::kDiscard, data, size);
}

double RawPeer::receive_bulk(uint8_t* data, size_t size) { return receive_requested(bulk_, data, size); }

double RawPeer::send_messages(size_t count) {
  const Request request{Operation::kMessages, 0, count};
  uint8_t message[kMessageBytes] = {};
  const uint32_t length = kMessageBytes;
  std::memcpy(message, &length, sizeof length);
  uint8_t done = 0;
  size_t used = 0;
  const Stopwatch watch;
  if (!send_all(bulk_, &request, sizeof request)) fail("messages");
  for (size_t i = 0; i < count; ++i) {
    if (used + kMessageBytes > batch_.size()) {
      if (!send_all(bulk_, batch_.data(), used)) fail("messages");
      used = 0;
    }
    std::memcpy(batch_.data() + used, message, kMessageBytes);
    used += kMessageBytes;
  }
  if (!send_all(bulk_, batch_.data(), used)) fail("messages");
  if (!receive_all(bulk_, &done, 1)) fail("messages");
  return watch.seconds();
}

}  // namespace remotecl::bench
