#include "runtime/transport/rdma/rdma_connection.h"

#include <array>

namespace remotecl {
namespace {

constexpr std::chrono::milliseconds kLinger{100};

Bytes bytes_of(const iovec& part) { return {static_cast<const std::byte*>(part.iov_base), part.iov_len}; }

}  // namespace

void RdmaConnection::shutdown() {
  channel_->flush(kLinger);
  channel_->shutdown();
}

std::size_t RdmaConnection::read_some(MutableBytes to) {
  const std::chrono::milliseconds timeout = read_timeout_;
  const std::size_t count = channel_->read(to, timeout.count() == 0 ? RdmaChannel::kForever : timeout);
  bytes_received_.fetch_add(count, std::memory_order_relaxed);
  return count;
}

std::ptrdiff_t RdmaConnection::try_read_some(MutableBytes to) {
  const std::ptrdiff_t count = channel_->try_read(to);
  if (count > 0) bytes_received_.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
  return count;
}

// Small parts share a message.
bool RdmaConnection::write(iovec* parts, int count) {
  std::array<std::byte, rdma::kUserBytesMax> joined;
  std::size_t filled = 0;
  const auto write_joined = [&] {
    return filled == 0 || channel_->write(Bytes(joined).first(std::exchange(filled, 0)));
  };
  for (int i = 0; i < count; ++i) {
    const Bytes part = bytes_of(parts[i]);
    if (filled + part.size() > joined.size() && !write_joined()) return false;
    if (part.size() > joined.size()) {
      if (!channel_->write(part)) return false;
    } else if (!part.empty()) {
      std::memcpy(joined.data() + filled, part.data(), part.size());
      filled += part.size();
    }
    bytes_sent_.fetch_add(part.size(), std::memory_order_relaxed);
  }
  return write_joined();
}

std::ptrdiff_t RdmaConnection::try_write(Bytes from) {
  const std::ptrdiff_t count = channel_->try_write(from);
  if (count > 0) bytes_sent_.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
  return count;
}

}  // namespace remotecl
