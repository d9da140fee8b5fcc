#include "server/isolation/session_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace remotecl::server {
namespace {

std::optional<std::uint64_t> limit(std::uint64_t word) { return word == kNoLimit ? std::nullopt : std::optional(word); }

// Takes ownership of all descriptors in a message.
std::vector<Descriptor> take_descriptors(msghdr& message) {
  std::vector<Descriptor> descriptors;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      descriptors.emplace_back(number);
    }
  }
  return descriptors;
}

}  // namespace

ConnectionFields ConnectionFields::of(const IncomingConnection& incoming) {
  const auto deadline = std::chrono::duration_cast<std::chrono::nanoseconds>(incoming.deadline.time_since_epoch());
  return {incoming.hello, static_cast<std::uint64_t>(deadline.count()), incoming.from.host, incoming.from.port,
          incoming.connection->kind()};
}

LimitFields LimitFields::of(const Limits& limits) {
  return {limits.device_memory.value_or(kNoLimit),
          limits.host_memory.value_or(kNoLimit),
          limits.queued_commands.value_or(kNoLimit),
          limits.bandwidth.value_or(kNoLimit),
          limits.command_seconds.value_or(kNoLimit),
          limits.kernel_sockets.value_or(kNoLimit),
          limits.kernel_bandwidth.value_or(kNoLimit),
          limits.kernel_threads.value_or(kNoLimit),
          std::bit_cast<std::uint64_t>(limits.weight.value_or(1))};
}

Limits LimitFields::limits() const {
  Limits limits;
  limits.device_memory = limit(device_memory);
  limits.host_memory = limit(host_memory);
  limits.queued_commands = limit(queued_commands);
  limits.bandwidth = limit(bandwidth);
  limits.command_seconds = limit(command_seconds);
  limits.kernel_sockets = limit(kernel_sockets);
  limits.kernel_bandwidth = limit(kernel_bandwidth);
  limits.kernel_threads = limit(kernel_threads);
  limits.weight = std::bit_cast<double>(weight);
  return limits;
}

std::pair<SessionChannel, SessionChannel> SessionChannel::make() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::system_category(), "socketpair");
  }
  return {SessionChannel(Descriptor(ends[0])), SessionChannel(Descriptor(ends[1]))};
}

int SessionChannel::try_to_send(Bytes bytes, std::initializer_list<int> descriptors) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors.size() != 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), std::data(descriptors), descriptors.size() * sizeof(int));
  }
  for (;;) {
    if (::sendmsg(end_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

bool SessionChannel::deliver(Bytes bytes, std::initializer_list<int> descriptors, int end) {
  for (;;) {
    const int error = try_to_send(bytes, descriptors);
    if (error != EAGAIN) return error == 0;
    pollfd waits[2] = {{end_.get(), POLLOUT, 0}, {end, POLLIN, 0}};
    if (::poll(waits, 2, -1) >= 0 && waits[1].revents != 0) return false;
  }
}

std::optional<SessionChannel::Packet> SessionChannel::receive() {
  Packet packet{};
  iovec parts[2] = {{&packet.type, sizeof packet.type}, {received_.data(), received_.size()}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = ::recvmsg(end_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size > 0) packet.descriptors = take_descriptors(message);
  if (size <= 0) return std::nullopt;
  packet.lacks_descriptors = (message.msg_flags & MSG_CTRUNC) != 0;
  if (packet.lacks_descriptors) packet.descriptors.clear();
  if (size < static_cast<ssize_t>(sizeof packet.type) || (message.msg_flags & MSG_TRUNC) != 0) {
    packet.type = PacketType::kUnreadable;
    return packet;
  }
  packet.payload.assign(received_.begin(), received_.begin() + (size - static_cast<ssize_t>(sizeof packet.type)));
  return packet;
}

bool SessionChannel::await(Deadline deadline) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd wait{end_.get(), POLLIN, 0};
    const int found = ::poll(&wait, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000)));
    if (found >= 0) return found > 0;
  }
}

void SessionChannel::end_sending() { ::shutdown(end_.get(), SHUT_WR); }

}  // namespace remotecl::server
