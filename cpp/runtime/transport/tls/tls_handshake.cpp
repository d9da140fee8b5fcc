// Establishing TLS, and checking the peer's certificate.
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "runtime/crypto/crypto_library.h"
#include "runtime/transport/tcp/dead_peer_detector.h"
#include "runtime/transport/tls/certificate.h"
#include "runtime/transport/tls/tls_connection.h"

namespace remotecl {
namespace {

constexpr std::uint8_t kAlert = 0x15;
constexpr std::uint8_t kClientHello = 1;

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

// The BIO between OpenSSL and memory. Never freed, like the library context.
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
      if (!first) return fall_silent("ended the connection, or said nothing, where TLS should have begun", deadline);
      if (*first != std::byte{kFirstByte} && *first != std::byte{kAlert}) return Handshake::kNoTls;
    }
    const bool has_come = receive_handshake_record(deadline);
    const bool is_fit =
        has_come ? demand_.is_client || is_fit_for_a_stranger(is_first) : record_size() <= handshake_record_max();
    if (!is_fit) return fail("began TLS in a way that none of ours does");
    if (!has_come) return fall_silent("ended the connection, or fell silent, while TLS began", deadline);
    next = step();
  }
  if (next == Step::kDone) {
    is_ready_ = true;
    DeadPeerDetector::instance().watch_rest(*stream_);
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

TlsConnection::Handshake TlsConnection::fall_silent(std::string why, Deadline deadline) {
  is_broken_ = std::chrono::steady_clock::now() < deadline;
  return fail(std::move(why));
}

// Passes the received record to OpenSSL and sends the answer.
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
  // The answer fits into any socket buffer, so no peer can make this block. It may be the alert that says why
  // the handshake failed. A write error is ignored, because a peer that has hung up may have sent its reason
  // before.
  return send_some() == Sent::kPart ? Step::kFailed : result;
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
    if (size > handshake_record_max() || receive_some(size - received().size(), Wait::kForBytes, deadline) <= 0)
      return false;
  }
  return true;
}

// Limits what OpenSSL reserves for a stranger: a ClientHello must be complete in its record, and there is
// only one. (OpenSSL would ask for a second one if the first had no key for X25519 or P-256.)
bool TlsConnection::is_fit_for_a_stranger(bool is_first) const {
  const Bytes record = received().first(record_size());
  if (!is_first) return octet(record, 0) != kFirstByte;
  if (octet(record, 0) != kFirstByte || record.size() < kHeaderSize + 4) return false;
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
  // A server goes on: the application's handshake tells the client what is wrong with its certificate.
  return !demand_.is_client || certificate_->objection.empty();
}

}  // namespace remotecl
