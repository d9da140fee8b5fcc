#include "runtime/transport/tls_connection.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/transport/certificate.h"
#include "runtime/transport/crypto_library.h"

namespace remotecl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kHeaderSize = 5;           // of a record: its type, a version, how many bytes follow
constexpr std::size_t kOverheadMin = 5 + 1 + 16;  // header, inner type, tag
constexpr std::size_t kPieceMax = SSL3_RT_MAX_PLAIN_LENGTH;
constexpr std::size_t kRecordMax = kHeaderSize + kPieceMax + 256;
// Both so that the other side has something to do while this one goes on, for few system calls.
constexpr std::size_t kReceiveMax = 128u << 10;
constexpr std::size_t kBatch = 64u << 10;

enum RecordType : unsigned char { kAlert = 0x15, kHandshakeRecord = 0x16 };
constexpr unsigned char kClientHello = 1;

std::size_t octet(Bytes bytes, std::size_t at) { return std::to_integer<std::size_t>(bytes[at]); }

TlsConnection& connection_of(BIO* bio) { return *static_cast<TlsConnection*>(BIO_get_data(bio)); }

int bio_read(BIO* bio, char* to, int size) {
  BIO_clear_retry_flags(bio);
  const std::size_t count =
      connection_of(bio).take_received({reinterpret_cast<std::byte*>(to), static_cast<std::size_t>(size)});
  if (count != 0) return static_cast<int>(count);
  BIO_set_retry_read(bio);
  return -1;
}

int bio_write(BIO* bio, const char* from, int size) {
  connection_of(bio).put_sealed(as_bytes({from, static_cast<std::size_t>(size)}));
  return size;
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

// Between OpenSSL and memory. Never freed, as the library.
BIO_METHOD* bio_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "remotecl");
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

std::string remedy_for(int error) {
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the server needs a new one, or this machine's clock is wrong";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "is the clock of this machine, or of the one where it was made, wrong?";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "name the server as its certificate does, or pin its key with pin=sha256:... in the place of ca=";
    default:
      return "the file named with ca= must hold the certificate of who has signed the server's";
  }
}

std::string wrong_key_text(const KeyPin& found, const KeyPin& wanted) {
  return "has another key than it is named with: " + pin_text(found) + ", and pin= says " + pin_text(wanted) +
         ". Its certificate was made anew, or another server answers there, or somebody in between poses as it. Ask "
         "whoever runs the server which key it has before you change the pin";
}

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

// ---- the handshake

bool TlsConnection::begin() {
  MutexLock lock(mutex_);
  ssl_.reset(SSL_new(context_));
  BIO* const bio = BIO_new(bio_method());
  if (!ssl_ || bio == nullptr) {
    BIO_free(bio);
    return false;
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_app_data(ssl_.get(), this);
  if (!demand_.is_client) {
    SSL_set_accept_state(ssl_.get());
    return true;
  }
  SSL_set_connect_state(ssl_.get());
  if (!demand_.checks_chain) return true;
  X509_VERIFY_PARAM* const verification = SSL_get0_param(ssl_.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(verification, demand_.host.c_str()) == 1) return true;
  SSL_set_hostflags(ssl_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(ssl_.get(), demand_.host.c_str()) == 1 &&
         SSL_set_tlsext_host_name(ssl_.get(), demand_.host.c_str()) == 1;
}

TlsConnection::Handshake TlsConnection::handshake(Deadline deadline) {
  if (!begin()) return fail("cannot be spoken to: " + crypto_error());
  Step next = demand_.is_client ? step() : Step::kWantsRecord;
  for (bool is_first = true; next == Step::kWantsRecord; is_first = false) {
    if (is_first) {
      const auto first = first_byte(deadline);
      if (!first) return fail("ended the connection, or said nothing, where TLS should have begun");
      if (*first != std::byte{kHandshakeRecord} && *first != std::byte{kAlert}) return Handshake::kNoTls;
    }
    if (!receive_handshake_record(deadline)) return fail("ended the connection, or fell silent, while TLS began");
    if (!demand_.is_client && !is_fit_for_a_stranger(is_first)) return fail("began TLS in a way that none of ours does");
    next = step();
  }
  if (next == Step::kDone) {
    is_ready_ = true;
    return Handshake::kDone;
  }
  const std::string reason = crypto_error();
  if (certificate_ && !certificate_->objection.empty()) return fail(certificate_->objection);
  return fail("could not agree on TLS with this side (" + reason + ")");
}

TlsConnection::Handshake TlsConnection::fail(std::string why) {
  failure_ = std::move(why);
  return Handshake::kFailed;
}

// What OpenSSL makes of the record that was received, and the answer on its way.
TlsConnection::Step TlsConnection::step() {
  Step result = Step::kDone;
  {
    MutexLock lock(mutex_);
    ERR_clear_error();
    opening_ = has_record() ? record_size() : 0;
    const int answer = SSL_do_handshake(ssl_.get());
    if (answer != 1) {
      result = SSL_get_error(ssl_.get(), answer) == SSL_ERROR_WANT_READ ? Step::kWantsRecord : Step::kFailed;
    }
  }
  take_sealed();
  // Little enough for any socket's buffer: nobody can make this block. Also the alert that tells why it failed.
  return send_some() == Sent::kAll || result == Step::kFailed ? result : Step::kFailed;
}

std::optional<std::byte> TlsConnection::first_byte(Deadline deadline) {
  std::byte first{};
  while (await_readable(deadline)) {
    const std::ptrdiff_t count = stream_->peek({&first, 1});
    if (count > 0) return first;
    if (count == 0) break;
  }
  return std::nullopt;
}

bool TlsConnection::receive_handshake_record(Deadline deadline) {
  while (!has_record()) {
    const std::size_t size = std::max(record_size(), kHeaderSize);
    if (size > kRecordMax || receive_some(size - received().size(), Wait::kForBytes, deadline) <= 0) return false;
  }
  return true;
}

// A stranger must not make OpenSSL reserve much: a ClientHello is whole in its record, and there is only one. (A second
// one would be asked for if the first one had no key for X25519 or P-256.)
bool TlsConnection::is_fit_for_a_stranger(bool is_first) const {
  const Bytes record = received().first(record_size());
  if (!is_first) return octet(record, 0) != kHandshakeRecord;
  if (octet(record, 0) != kHandshakeRecord || record.size() < kHeaderSize + 4) return false;
  const std::size_t said = octet(record, 6) << 16 | octet(record, 7) << 8 | octet(record, 8);
  return octet(record, 5) == kClientHello && said <= record.size() - kHeaderSize - 4;
}

bool TlsConnection::judge(x509_store_ctx_st* store) {
  PeerCertificate shown{};
  const X509* const leaf = X509_STORE_CTX_get0_cert(store);
  if (leaf == nullptr || !pin_of(*leaf, shown.key)) return false;
  if (demand_.checks_chain && X509_verify_cert(store) != 1) {
    const int error = X509_STORE_CTX_get_error(store);
    shown.objection = X509_verify_cert_error_string(error);
    if (demand_.is_client) {
      shown.objection = "shows a certificate that is not accepted (" + shown.objection + "); " + remedy_for(error);
    }
  } else if (demand_.pin && *demand_.pin != shown.key) {
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    shown.objection = wrong_key_text(shown.key, *demand_.pin);
  }
  certificate_ = std::move(shown);
  // A client is told by the greeting what is wrong with its certificate.
  return !demand_.is_client || certificate_->objection.empty();
}

// ---- reading

std::size_t TlsConnection::take_received(MutableBytes to) {
  const std::size_t count = std::min(to.size(), opening_);
  std::copy_n(received().begin(), count, to.begin());
  received_begin_ += count;
  opening_ -= count;
  return count;
}

// Of the first record that was received, also if only its header was; 0: not even that.
std::size_t TlsConnection::record_size() const {
  const Bytes bytes = received();
  return bytes.size() < kHeaderSize ? 0 : kHeaderSize + (octet(bytes, 3) << 8 | octet(bytes, 4));
}

bool TlsConnection::has_record() const {
  const std::size_t size = record_size();
  return size != 0 && received().size() >= size;
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
  bytes_received_.fetch_add(total, std::memory_order_relaxed);
  return static_cast<std::ptrdiff_t>(total);
}

// Takes what can be handed on at once, or as much as makes one record whole; but the last byte of one that is for more
// than is wanted stays. As try_read_some; `is_drained`: there was no more.
std::ptrdiff_t TlsConnection::receive(std::size_t wanted, Wait wait, OptionalDeadline deadline, bool& is_drained) {
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

// False when the time is over.
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

// From the record that was received: how many bytes, 0 if it has none for the caller; -1 when it is not in order, or
// the other side has ended.
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

// Encrypts at most a record's bytes.
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
    if (!seal(piece)) return -1;
    take_sealed();
    sent = send_some();
    if (sent == Sent::kPart) owed_ = piece.size();
    if (sent == Sent::kAll) total += piece.size();
  }
  if (sent == Sent::kBroken) return -1;
  bytes_sent_.fetch_add(total, std::memory_order_relaxed);
  return static_cast<std::ptrdiff_t>(total);
}

}  // namespace remotecl
