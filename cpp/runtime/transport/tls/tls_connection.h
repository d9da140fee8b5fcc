#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/transport/tcp/stream_connection.h"

struct ssl_st;
struct ssl_ctx_st;
struct x509_store_ctx_st;

namespace remotecl {

// A TLS 1.3 connection over a stream. Nothing can be read or written before handshake() has succeeded.
//
// An OpenSSL connection object is for one thread at a time. A mutex is held while it encrypts or decrypts one
// record. Nobody waits with the mutex, because OpenSSL sees only memory; the socket is read and written
// separately. wait_handle() is the socket, so no more may be taken out of it than the caller gets at once: if
// the caller wants less than a record, the record's last byte stays in the socket until the rest is wanted.
//
// Bytes that try_write() has encrypted but could not send are not reported as written: the caller passes them
// again.
class TlsConnection final : public Connection {
 public:
  static constexpr std::uint8_t kFirstByte = 0x16;  // the first byte of a TLS client

  // The requirements on the peer's certificate.
  struct Demand {
    bool is_client = false;     // this side connects
    bool checks_chain = false;  // by an authority that the context trusts
    std::string host;  // client only: the name or address that the certificate must be for, if the chain is checked
    std::optional<KeyPin> pin;  // client only: the key's pin
  };

  // The context is that of a TlsClient or TlsServer.
  TlsConnection(ssl_ctx_st* context, std::unique_ptr<StreamConnection> stream, Demand demand);
  ~TlsConnection() override;

  using Deadline = std::chrono::steady_clock::time_point;
  // kNoTls: the peer's first byte is not TLS; it was not consumed. kFailed: failure() says why.
  enum class Handshake { kDone, kNoTls, kFailed };
  Handshake handshake(Deadline deadline);
  // The cause, as the predicate of "the server ...", for people.
  const std::string& failure() const { return failure_; }
  // Whether the connection ended before the deadline, which is no failure of TLS.
  bool is_broken() const { return is_broken_; }
  // For an answer in plain text.
  StreamConnection& stream() { return *stream_; }

  using Connection::write;
  std::size_t read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_some(MutableBytes to) override;
  bool write(iovec* parts, int count) override;
  std::ptrdiff_t try_write(Bytes from) override;
  int wait_handle() const override { return stream_->wait_handle(); }
  void set_read_timeout(std::chrono::milliseconds timeout) override { read_timeout_ = timeout; }
  void shutdown() override { stream_->shutdown(); }
  bool vanished() const override { return stream_->vanished(); }
  TransportKind kind() const override { return TransportKind::kTls; }
  Delivered delivered() const override { return stream_->delivered(); }
  double paced_rate() const override { return stream_->paced_rate(); }
  const PeerCertificate* peer_certificate() const override { return certificate_ ? &*certificate_ : nullptr; }

  // Sets after how many records keys are replaced, for tests. The default is well below the bound of AES-GCM,
  // 2^24.5 (RFC 8446, 5.5).
  void set_records_per_key(std::uint64_t records) { records_per_key_ = records; }

  // Called back by OpenSSL.
  std::size_t take_received(MutableBytes to);
  void put_sealed(Bytes bytes) {
    mutex_.assume_held();  // by whichever thread called OpenSSL
    sealed_.append(bytes);
  }
  bool judge(x509_store_ctx_st* store);

 private:
  static constexpr std::size_t kHeaderSize = 5;  // of a record: type, version, size of the rest
  static constexpr std::size_t kRecordMax = kHeaderSize + (16u << 10) + 256;
  static constexpr std::size_t kStrangersRecordMax = 8u << 10;  // while the client's handshake is not complete

  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
  };
  using Ssl = std::unique_ptr<ssl_st, FreeSsl>;

  // The handshake.
  bool begin();
  enum class Step { kDone, kWantsRecord, kFailed };
  Step step();
  std::optional<std::byte> first_byte(Deadline deadline);
  std::size_t handshake_record_max() const { return demand_.is_client ? kRecordMax : kStrangersRecordMax; }
  bool receive_handshake_record(Deadline deadline);
  bool is_fit_for_a_stranger(bool is_first) const;
  Handshake fail(std::string why);
  Handshake fall_silent(std::string why, Deadline deadline);

  // Reading.
  using OptionalDeadline = std::optional<Deadline>;
  enum class Wait { kNot, kForBytes };
  std::ptrdiff_t read(MutableBytes to, Wait wait);
  Bytes received() const { return received_.bytes().subspan(received_begin_); }
  std::size_t record_size() const;
  bool has_record() const;
  void note_begun();
  std::ptrdiff_t receive(std::size_t wanted, Wait wait, OptionalDeadline deadline, bool& is_drained);
  std::ptrdiff_t receive_some(std::size_t size, Wait wait, OptionalDeadline deadline);
  std::ptrdiff_t keep_last_byte(Wait wait, OptionalDeadline deadline);
  bool await_readable(OptionalDeadline deadline);
  std::ptrdiff_t open(MutableBytes to) EXCLUDES(mutex_);

  // Writing.
  bool seal(Bytes piece) EXCLUDES(mutex_);
  void take_sealed() EXCLUDES(mutex_);
  bool send_all();
  enum class Sent { kAll, kPart, kBroken };
  Sent send_some();

  const std::unique_ptr<StreamConnection> stream_;
  ssl_ctx_st* const context_;
  const Demand demand_;
  bool is_ready_ = false;  // the handshake has succeeded
  std::string failure_;
  bool is_broken_ = false;
  std::optional<PeerCertificate> certificate_;

  Mutex mutex_;
  Ssl ssl_ GUARDED_BY(mutex_);
  ByteBuffer sealed_ GUARDED_BY(mutex_);  // what OpenSSL wants to send
  std::uint64_t records_ GUARDED_BY(mutex_) = 0;
  std::uint64_t records_per_key_ = std::uint64_t{1} << 22;

  // Used by the reader.
  ByteBuffer received_;  // at most one record when a call ends
  std::size_t received_begin_ = 0;
  std::size_t opening_ = 0;      // bytes of the record that OpenSSL may take now
  std::size_t undelivered_ = 0;  // bytes of an opened record
  bool last_byte_kept_ = false;  // the last byte of that record is still in the socket
  std::chrono::milliseconds read_timeout_{0};

  // Used by the writer.
  ByteBuffer outgoing_;
  std::size_t sent_ = 0;  // of outgoing_
  std::size_t owed_ = 0;  // bytes in outgoing_ that were not reported as written
};

}  // namespace remotecl
