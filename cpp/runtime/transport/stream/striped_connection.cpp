#include "runtime/transport/stream/striped_connection.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cassert>

#include "runtime/transport/stream/carrier_monitor.h"

namespace remotecl {
namespace {

using Clock = std::chrono::steady_clock;

// Little-endian.
void encode(std::uint64_t value, std::array<std::byte, 8>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}
std::uint64_t decode(const std::array<std::byte, 8>& from) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < from.size(); ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return value;
}

bool await_readable(const Connection& connection, std::chrono::microseconds time) {
  pollfd wait{connection.wait_handle(), POLLIN, 0};
  const timespec timeout{0, std::chrono::nanoseconds(time).count()};
  return ::ppoll(&wait, 1, &timeout, nullptr) > 0;
}

}  // namespace

StripedConnection::StripedConnection(std::vector<std::shared_ptr<Connection>> carriers)
    : carriers_(std::move(carriers)),
      writers_(static_cast<unsigned>(carriers_.size()) - 1),
      readers_(static_cast<unsigned>(carriers_.size()) - 1) {
  assert(carriers_.size() >= 2 && carriers_.size() <= kCarriersMax);
  CarrierMonitor::instance().watch(*this, carriers_);
}

StripedConnection::~StripedConnection() { CarrierMonitor::instance().forget(*this, carriers_); }

void StripedConnection::set_read_timeout(std::chrono::milliseconds timeout) {
  for (const auto& carrier : carriers_) carrier->set_read_timeout(timeout);
}

void StripedConnection::shutdown() {
  for (const auto& carrier : carriers_) carrier->shutdown();
}

// Each carrier's time counts in part, because they work side by side.
Connection::Delivered StripedConnection::delivered() const {
  Delivered sum;
  for (const auto& carrier : carriers_) {
    const Delivered part = carrier->delivered();
    sum.bytes += part.bytes;
    sum.seconds += part.seconds / static_cast<double>(carriers_.size());
    sum.seconds_in_all += part.seconds_in_all / static_cast<double>(carriers_.size());
  }
  return sum;
}

// A write takes as long as its slowest part.
double StripedConnection::paced_rate() const {
  double least = 0;
  for (const auto& carrier : carriers_) {
    const double rate = carrier->paced_rate();
    if (rate != 0 && (least == 0 || rate < least)) least = rate;
  }
  return least * static_cast<double>(carriers_.size());
}

bool StripedConnection::vanished() const {
  return std::any_of(carriers_.begin(), carriers_.end(), [](const auto& carrier) { return carrier->vanished(); });
}

// ---- writing

std::uint64_t StripedConnection::Source::size() const {
  std::uint64_t size = 0;
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  return size;
}

int StripedConnection::Source::gather(std::uint64_t offset, std::uint64_t size, iovec* to) const {
  int used = 0;
  for (int i = 0; i < count && size != 0; ++i) {
    const std::uint64_t length = parts[i].iov_len;
    if (offset >= length) {
      offset -= length;
      continue;
    }
    const std::uint64_t taken = std::min(length - offset, size);
    to[used++] = {static_cast<std::byte*>(parts[i].iov_base) + offset, taken};
    offset = 0;
    size -= taken;
  }
  return used;
}

bool StripedConnection::write(iovec* parts, int count) {
  assert(count <= kPartsMax);
  const Source source{parts, count};
  const std::uint64_t size = source.size();
  std::uint64_t done = std::min(size, begun_left_);
  bool well = (header_left_ == 0 && begun_left_ == 0) || finish_begun(source, done);
  while (well && done < size) {
    const std::uint64_t run = std::min<std::uint64_t>(size - done, kRunMax);
    well = write_run(source, done, run);
    done += run;
  }
  if (!well) {
    shutdown();  // the other carriers are of no more use
    return false;
  }
  bytes_sent_.fetch_add(size, std::memory_order_relaxed);
  return true;
}

// Writes the rest of the run that try_write() has announced.
bool StripedConnection::finish_begun(const Source& source, std::uint64_t size) {
  iovec parts[kPartsMax + 1];
  parts[0] = {header_.data() + kHeaderSize - header_left_, header_left_};
  if (!carriers_.front()->write(parts, 1 + source.gather(0, size, parts + 1))) return false;
  header_left_ = 0;
  begun_left_ -= size;
  return true;
}

bool StripedConnection::write_run(const Source& source, std::uint64_t offset, std::uint64_t size) {
  encode(size, header_);
  if (size > kBlockSize && writers_.is_there()) {
    std::atomic<bool> well{true};
    writers_.run([&](unsigned carrier) {
      for (std::uint64_t block = carrier * kBlockSize; block < size && well; block += stride()) {
        if (write_block(source, offset, size, block)) continue;
        if (well.exchange(false)) shutdown();  // other writing threads must not wait for a reader that is gone
      }
    });
    return well;
  }
  // In the stream's order, because the reader may read one carrier after the other.
  for (std::uint64_t block = 0; block < size; block += kBlockSize) {
    if (!write_block(source, offset, size, block)) return false;
  }
  return true;
}

bool StripedConnection::write_block(const Source& source, std::uint64_t offset, std::uint64_t size,
                                    std::uint64_t block) {
  iovec parts[kPartsMax + 1];
  int count = 0;
  if (block == 0) parts[count++] = {header_.data(), kHeaderSize};
  count += source.gather(offset + block, std::min<std::uint64_t>(kBlockSize, size - block), parts + count);
  return carriers_[block / kBlockSize % carriers_.size()]->write(parts, count);
}

// Writes runs of at most one block, which only the first carrier takes.
std::ptrdiff_t StripedConnection::try_write(Bytes from) {
  Connection& carrier = *carriers_.front();
  std::size_t written = 0;
  bool is_broken = false;
  while (written < from.size()) {
    if (begun_left_ == 0) {
      begun_left_ = std::min(from.size() - written, kBlockSize);
      encode(begun_left_, header_);
      header_left_ = kHeaderSize;
    }
    while (header_left_ != 0) {
      const std::ptrdiff_t count = carrier.try_write(Bytes(header_).last(header_left_));
      is_broken = count < 0;
      if (count <= 0) break;
      header_left_ -= static_cast<std::size_t>(count);
    }
    if (header_left_ != 0) break;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(begun_left_, from.size() - written));
    const std::ptrdiff_t count = carrier.try_write(from.subspan(written, size));
    is_broken = count < 0;
    if (is_broken) break;
    begun_left_ -= static_cast<std::uint64_t>(count);
    written += static_cast<std::size_t>(count);
    if (static_cast<std::size_t>(count) < size) break;
  }
  if (is_broken && written == 0) return -1;
  bytes_sent_.fetch_add(written, std::memory_order_relaxed);
  return static_cast<std::ptrdiff_t>(written);
}

// ---- reading

std::size_t StripedConnection::read_some(MutableBytes to) { return static_cast<std::size_t>(read(to, How::kBlocking)); }

std::ptrdiff_t StripedConnection::try_read_some(MutableBytes to) { return read(to, How::kNow); }

std::ptrdiff_t StripedConnection::try_read_ahead(MutableBytes to) { return read(to, How::kAhead); }

std::ptrdiff_t StripedConnection::read(MutableBytes to, How how) {
  if (position_ == run_size_) {
    const std::ptrdiff_t begun = begin_run(how);
    if (begun <= 0) return begun;
  }
  const std::uint64_t end = position_ + std::min<std::uint64_t>(to.size(), run_size_ - position_);
  if (whole() > position_) return deliver(end);  // has been read ahead, and the caller wants no more of it
  bool is_shared = end - position_ > kBlockSize && how != How::kNow && readers_.is_there();
  if (!is_shared || how == How::kAhead) {
    const std::size_t carrier = owner(position_);
    const std::ptrdiff_t count = read_block(carrier, to, end, how);
    if (count < 0) return -1;
    if (count == 0) {
      shutdown();
      return 0;
    }
    // A part-filled block shows that one thread is fast enough for the data that come.
    is_shared = is_shared && next_[carrier] % kBlockSize == 0;
  }
  if (is_shared) {
    ahead_end_ = Clock::now() + kAheadMax;
    readers_.run([&](unsigned carrier) { read_carrier(carrier, to, end, how); });
  }
  return deliver(end);
}

// Returns the same as try_read_some().
std::ptrdiff_t StripedConnection::begin_run(How how) {
  Connection& carrier = *carriers_.front();
  while (run_header_have_ < kHeaderSize) {
    const MutableBytes rest = MutableBytes(run_header_).subspan(run_header_have_);
    const std::ptrdiff_t count =
        how == How::kBlocking ? static_cast<std::ptrdiff_t>(carrier.read_some(rest)) : carrier.try_read_some(rest);
    if (count == 0) shutdown();
    if (count <= 0) return count;
    run_header_have_ += static_cast<std::size_t>(count);
  }
  const std::uint64_t size = decode(run_header_);
  if (size == 0 || size > kRunMax) {
    shutdown();
    return 0;
  }
  run_header_have_ = 0;
  position_ = 0;
  run_size_ = size;
  for (std::size_t i = 0; i < carriers_.size(); ++i) {
    next_[i] = i == 0 || size > kBlockSize ? std::min<std::uint64_t>(i * kBlockSize, size) : size;
  }
  return 1;
}

// Reads to the end of the block at most. Returns the same as try_read_some().
std::ptrdiff_t StripedConnection::read_block(std::size_t carrier, MutableBytes to, std::uint64_t end, How how) {
  std::uint64_t& next = next_[carrier];
  const std::uint64_t block_end = std::min((next / kBlockSize + 1) * kBlockSize, run_size_);
  const MutableBytes piece = to.subspan(next - position_, std::min(block_end, end) - next);
  Connection& from = *carriers_[carrier];
  const std::ptrdiff_t count =
      how == How::kBlocking ? static_cast<std::ptrdiff_t>(from.read_some(piece)) : from.try_read_some(piece);
  if (count <= 0) return count;
  next += static_cast<std::uint64_t>(count);
  if (next == block_end && run_size_ > kBlockSize) {
    next = std::min<std::uint64_t>(block_end - 1 - (block_end - 1) % kBlockSize + stride(), run_size_);
  }
  return count;
}

// Runs on its own thread. Bytes that come before earlier ones are already in their place.
void StripedConnection::read_carrier(std::size_t carrier, MutableBytes to, std::uint64_t end, How how) {
  while (next_[carrier] < end) {
    const std::ptrdiff_t count = read_block(carrier, to, end, how);
    if (count > 0) continue;
    if (count == 0) return shutdown();  // otherwise the threads of other carriers would wait for bytes that never come
    if (Clock::now() >= ahead_end_ || !await_readable(*carriers_[carrier], kPatience)) return;
  }
}

// The position up to which all bytes of the run have come.
std::uint64_t StripedConnection::whole() const {
  return *std::min_element(next_.begin(), next_.begin() + static_cast<std::ptrdiff_t>(carriers_.size()));
}

std::ptrdiff_t StripedConnection::deliver(std::uint64_t end) {
  const std::uint64_t count = std::min(whole(), end) - position_;
  position_ += count;
  bytes_received_.fetch_add(count, std::memory_order_relaxed);
  return static_cast<std::ptrdiff_t>(count);
}

}  // namespace remotecl
