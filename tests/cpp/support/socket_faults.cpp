#include "support/socket_faults.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "support/fault_file.h"

namespace remotecl::testing {
namespace {

constexpr const char* kSetting = "REMOTECL_TEST_SOCKET_FAULTS";

std::atomic<SocketFaultsState*> g_state{nullptr};

// Of another program that was started with the library.
[[maybe_unused]] const bool g_is_told = [] {
  const char* const path = std::getenv(kSetting);
  return path != nullptr && use_socket_faults(path);
}();

int option(int descriptor, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

bool is_tcp(int descriptor) {
  const int domain = option(descriptor, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) && option(descriptor, SO_TYPE) == SOCK_STREAM;
}

struct Fault {
  SocketFaults::Kind kind;
  std::uint64_t random;
};

// `may_block`: it never says that it would. Such a call is interrupted in its place.
std::optional<Fault> next_fault(int descriptor, bool may_block) {
  SocketFaultsState* const state = g_state.load(std::memory_order_acquire);
  const std::uint32_t one_in = state != nullptr ? state->one_in.load(std::memory_order_relaxed) : 0;
  if (one_in == 0) return std::nullopt;
  const std::uint64_t random = mixed(state->seed + state->calls.fetch_add(1, std::memory_order_relaxed));
  const int error = errno;
  const bool fails = random % one_in == 0 && is_tcp(descriptor);
  errno = error;
  if (!fails) return std::nullopt;
  auto kind = static_cast<SocketFaults::Kind>((random >> 32) % SocketFaults::kKinds);
  if (kind == SocketFaults::kWouldBlock && may_block) kind = SocketFaults::kInterrupted;
  state->counts[kind].fetch_add(1, std::memory_order_relaxed);
  return Fault{kind, mixed(random)};
}

// The call itself, but of `size` bytes fewer, or not at all.
template <class Call>
ssize_t disturbed(int descriptor, std::size_t size, bool may_block, const Call& call) {
  const auto fault = next_fault(descriptor, may_block);
  if (!fault) return call(size);
  switch (fault->kind) {
    case SocketFaults::kShort:
      return call(size < 2 ? size : 1 + fault->random % (size - 1));
    case SocketFaults::kReset:
      ::shutdown(descriptor, SHUT_RDWR);
      errno = ECONNRESET;
      return -1;
    case SocketFaults::kWouldBlock:
      errno = EAGAIN;
      return -1;
    default:
      errno = EINTR;
      return -1;
  }
}

std::size_t size_of(const msghdr& message) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) size += message.msg_iov[i].iov_len;
  return size;
}

// The first `size` bytes of its vectors.
template <class Call>
ssize_t call_with(const msghdr& message, std::size_t size, const Call& call) {
  std::array<iovec, 64> parts;
  msghdr shorter = message;
  shorter.msg_iov = parts.data();
  shorter.msg_iovlen = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(message.msg_iovlen, parts.size()) && size != 0; ++i) {
    parts[i] = message.msg_iov[i];
    parts[i].iov_len = std::min(parts[i].iov_len, size);
    size -= parts[i].iov_len;
    ++shorter.msg_iovlen;
  }
  return call(shorter);
}

}  // namespace

SocketFaults::SocketFaults(std::string path, std::uint64_t seed) : path_(std::move(path)) {
  make_fault_file<SocketFaultsState>(path_);
  if (!use_socket_faults(path_.c_str())) throw std::runtime_error("cannot use " + path_);
  socket_faults()->seed = seed;
}

SocketFaults::~SocketFaults() {
  set_one_in(0);
  ::unlink(path_.c_str());
}

std::string SocketFaults::preloaded() const { return preloaded_with(&use_socket_faults); }

std::string SocketFaults::setting() const { return std::string(kSetting) + "=" + path_; }

void SocketFaults::set_one_in(std::uint32_t calls) { socket_faults()->one_in = calls; }

std::array<std::uint64_t, SocketFaults::kKinds> SocketFaults::counts() const {
  std::array<std::uint64_t, kKinds> counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = socket_faults()->counts[i];
  return counts;
}

SocketFaultsState* socket_faults() { return g_state; }

bool use_socket_faults(const char* path) {
  SocketFaultsState* const state = map_fault_file<SocketFaultsState>(path);
  if (state == nullptr) return false;
  g_state.store(state, std::memory_order_release);
  return true;
}

}  // namespace remotecl::testing

// In the place of the C library's.
using remotecl::testing::call_with;
using remotecl::testing::disturbed;
using remotecl::testing::size_of;

#pragma GCC visibility push(default)
extern "C" {

ssize_t send(int descriptor, const void* data, size_t size, int flags) {
  return disturbed(descriptor, size, (flags & MSG_DONTWAIT) == 0, [&](std::size_t count) {
    return ::syscall(SYS_sendto, descriptor, data, count, flags, nullptr, 0);
  });
}

ssize_t recv(int descriptor, void* data, size_t size, int flags) {
  return disturbed(descriptor, size, (flags & MSG_DONTWAIT) == 0, [&](std::size_t count) {
    return ::syscall(SYS_recvfrom, descriptor, data, count, flags, nullptr, nullptr);
  });
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  return disturbed(descriptor, size_of(*message), (flags & MSG_DONTWAIT) == 0, [&](std::size_t count) {
    const auto call = [&](const msghdr& shorter) { return ::syscall(SYS_sendmsg, descriptor, &shorter, flags); };
    return count == size_of(*message) ? call(*message) : call_with(*message, count, call);
  });
}

ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  return disturbed(descriptor, 0, (flags & MSG_DONTWAIT) == 0,
                   [&](std::size_t /*count*/) { return ::syscall(SYS_recvmsg, descriptor, message, flags); });
}

ssize_t read(int descriptor, void* data, size_t size) {
  return disturbed(descriptor, size, true,
                   [&](std::size_t count) { return ::syscall(SYS_read, descriptor, data, count); });
}

ssize_t write(int descriptor, const void* data, size_t size) {
  return disturbed(descriptor, size, true,
                   [&](std::size_t count) { return ::syscall(SYS_write, descriptor, data, count); });
}

}  // extern "C"
#pragma GCC visibility pop
