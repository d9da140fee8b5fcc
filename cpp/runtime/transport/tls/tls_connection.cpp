#include "runtime/transport/tls/tls_connection.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace remotecl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kOverheadMin = 5 + 1 + 16;  // header, inner type, tag
constexpr std::size_t kPieceMax = SSL3_RT_MAX_PLAIN_LENGTH;
// Small enough that both sides work at the same time, large enough for few system calls.
constexpr std::size_t kReceiveMax = 128u << 10;
constexpr std::size_t kBatch = 64u << 10;

}  // namespace

void TlsConnection::FreeSsl::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsConnection::TlsConnection(ssl_ctx_st* context, std::unique_ptr<StreamConnection> stream, Demand demand)
    : stream_(std::move(stream)), context_(context), demand_(std::move(demand)) {
  SSL_CTX_up_ref(context_);
}

TlsConnection::~TlsConnection() {
  ssl_.reset();
  SSL_CTX_free(context_);
}

std::size_t TlsConnection::take_received(MutableBytes to) {
  const std::size_t count = std::min(to.size(), opening_);
  std::copy_n(received().begin(), count, to.begin());
  received_begin_ += count;
  opening_ -= count;
  return count;
}

// The size of the first received record, known as soon as its header has arrived; else 0.
std::size_t TlsConnection::record_size() const {
  const Bytes bytes = received();
  return bytes.size() < kHeaderSize
             ? 0
             : kHeaderSize + (std::to_integer<std::size_t>(bytes[3]) << 8 | std::to_integer<std::size_t>(bytes[4]));
}

bool TlsConnection::has_record() const {
  const std::size_t size = record_size();
  return size != 0 && received().size() >= size;
}

void TlsConnection::note_begun() {
  stream_->set_awaits_rest(undelivered_ == 0 && !received().empty() && !has_record());
}

std::size_t TlsConnection::read_some(MutableBytes to) { return static_cast<std::size_t>(read(to, Wait::kForBytes)); }

std::ptrdiff_t TlsConnection::try_read_some(MutableBytes to) { return read(to, Wait::kNot); }

std::ptrdiff_t TlsConnection::read(MutableBytes to, Wait wait) {
  if (!is_ready_) return 0;
  OptionalDeadline deadline;
  if (wait == Wait::kForBytes && read_timeout_.count() != 0) deadline = Clock::now() + read_timeout_;
  std::size_t total = 0;
  bool is_drained = false;
  while (total < to.size()) {
    if (undelivered_ > 0 || has_record()) {
      const std::ptrdiff_t count = open(to.subspan(total));
      if (count < 0) {
        stream_->shutdown();
        break;
      }
      total += static_cast<std::size_t>(count);
      continue;
    }
    if (total > 0 && is_drained) break;
    const std::ptrdiff_t count = receive(to.size() - total, total > 0 ? Wait::kNot : wait, deadline, is_drained);
    if (count < 0 && total == 0) return -1;
    if (count <= 0) break;
  }
  note_begun();
  bytes_received_.fetch_add(total, std::memory_order_relaxed);
  return static_cast<std::ptrdiff_t>(total);
}

// Receives what can be passed on at once, or what completes a record. The last byte of a record that is
// longer than the caller wants stays in the socket. Returns what try_read_some() does; sets `is_drained` if
// the socket had no more.
std::ptrdiff_t TlsConnection::receive(std::size_t wanted, Wait wait, OptionalDeadline deadline, bool& is_drained) {
  note_begun();
  const std::size_t have = received().size();
  const std::size_t size = std::max(record_size(), kHeaderSize);
  if (size > kRecordMax) {
    stream_->shutdown();
    return 0;
  }
  std::size_t room = size - have;
  if (wanted >= size) {
    room = std::min(wanted, kReceiveMax) - have;
  } else if (size > kHeaderSize && size - kOverheadMin > wanted && size > kOverheadMin) {
    if (room == 1) return keep_last_byte(wait, deadline);
    --room;
  }
  const std::ptrdiff_t count = receive_some(room, wait, deadline);
  is_drained = count < static_cast<std::ptrdiff_t>(room);
  return count;
}

std::ptrdiff_t TlsConnection::receive_some(std::size_t size, Wait wait, OptionalDeadline deadline) {
  received_.consume(received_begin_);
  received_begin_ = 0;
  const MutableBytes space(received_.reserve(size), size);
  std::ptrdiff_t count = -1;
  if (wait == Wait::kNot || deadline) {
    while ((count = stream_->try_read_some(space)) < 0 && wait != Wait::kNot) {
      if (!await_readable(deadline)) return 0;
    }
  } else {
    count = static_cast<std::ptrdiff_t>(stream_->read_some(space));
  }
  if (count > 0) received_.commit(static_cast<std::size_t>(count));
  return count;
}

std::ptrdiff_t TlsConnection::keep_last_byte(Wait wait, OptionalDeadline deadline) {
  std::byte last{};
  std::ptrdiff_t count = -1;
  while ((count = stream_->peek({&last, 1})) < 0 && wait != Wait::kNot) {
    if (!await_readable(deadline)) return 0;
  }
  if (count > 0) {
    received_.append({&last, 1});
    last_byte_kept_ = true;
  }
  return count;
}

// Returns false if the deadline has passed.
bool TlsConnection::await_readable(OptionalDeadline deadline) {
  for (;;) {
    int timeout_ms = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      if (left <= 0) return false;
      timeout_ms = static_cast<int>(std::min<long long>(left, 1'000'000));
    }
    pollfd wait{stream_->wait_handle(), POLLIN, 0};
    const int count = ::poll(&wait, 1, timeout_ms);
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
}

// Decrypts from the received record. Returns the number of bytes, 0 if the record has none for the caller, or
// -1 if it is invalid or the other side has ended.
std::ptrdiff_t TlsConnection::open(MutableBytes to) {
  std::size_t count = 0;
  bool is_well = false;
  {
    MutexLock lock(mutex_);
    ERR_clear_error();
    opening_ = undelivered_ > 0 ? 0 : record_size();
    is_well = SSL_read_ex(ssl_.get(), to.data(), to.size(), &count) == 1 ||
              SSL_get_error(ssl_.get(), 0) == SSL_ERROR_WANT_READ;
    undelivered_ = static_cast<std::size_t>(SSL_pending(ssl_.get()));
  }
  if (last_byte_kept_ && undelivered_ == 0) {
    std::byte last{};
    stream_->try_read_some({&last, 1});
    last_byte_kept_ = false;
  }
  return is_well ? static_cast<std::ptrdiff_t>(count) : -1;
}

// ---- writing

// Encrypts at most one record's bytes.
bool TlsConnection::seal(Bytes piece) {
  MutexLock lock(mutex_);
  ERR_clear_error();
  if (++records_ % records_per_key_ == 0) SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
  std::size_t count = 0;
  return SSL_write_ex(ssl_.get(), piece.data(), piece.size(), &count) == 1 && count == piece.size();
}

void TlsConnection::take_sealed() {
  MutexLock lock(mutex_);
  if (sent_ == outgoing_.size()) {
    outgoing_.clear();
    sent_ = 0;
    std::swap(outgoing_, sealed_);
  } else {
    outgoing_.append(sealed_.bytes());
    sealed_.clear();
  }
}

bool TlsConnection::send_all() {
  take_sealed();
  const Bytes left = outgoing_.bytes().subspan(sent_);
  sent_ = outgoing_.size();
  return left.empty() || stream_->write(left);
}

TlsConnection::Sent TlsConnection::send_some() {
  while (sent_ < outgoing_.size()) {
    const std::ptrdiff_t count = stream_->try_write(outgoing_.bytes().subspan(sent_));
    if (count < 0) return Sent::kBroken;
    if (count == 0) return Sent::kPart;
    sent_ += static_cast<std::size_t>(count);
  }
  return Sent::kAll;
}

bool TlsConnection::write(iovec* parts, int count) {
  if (!is_ready_) return false;
  std::size_t unsent = 0;
  for (; count > 0; ++parts, --count) {
    Bytes part(static_cast<const std::byte*>(parts->iov_base), parts->iov_len);
    const std::size_t sealed_before = std::min(owed_, part.size());
    owed_ -= sealed_before;
    unsent += sealed_before;
    part = part.subspan(sealed_before);
    while (!part.empty()) {
      const Bytes piece = part.first(std::min(part.size(), kPieceMax));
      if (!seal(piece)) return false;
      unsent += piece.size();
      part = part.subspan(piece.size());
      if (unsent < kBatch) continue;
      if (!send_all()) return false;
      bytes_sent_.fetch_add(std::exchange(unsent, 0), std::memory_order_relaxed);
    }
  }
  if (!send_all()) return false;
  bytes_sent_.fetch_add(unsent, std::memory_order_relaxed);
  return true;
}

std::ptrdiff_t TlsConnection::try_write(Bytes from) {
  if (!is_ready_) return -1;
  std::size_t total = 0;
  Sent sent = send_some();
  if (sent == Sent::kAll) total = std::min(std::exchange(owed_, 0), from.size());
  while (sent == Sent::kAll && total < from.size()) {
    const Bytes piece = from.subspan(total, std::min(from.size() - total, kPieceMax));
    if (!seal(piece)) {
      sent = Sent::kBroken;
      break;
    }
    take_sealed();
    sent = send_some();
    if (sent == Sent::kPart) owed_ = piece.size();
    if (sent == Sent::kAll) total += piece.size();
  }
  if (sent == Sent::kBroken && total == 0) return -1;
  bytes_sent_.fetch_add(total, std::memory_order_relaxed);
  return static_cast<std::ptrdiff_t>(total);
}

}  // namespace remotecl
