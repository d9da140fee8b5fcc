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

// A connection through TLS 1.3 over a stream. Before handshake() has succeeded nothing can be read or written.
//
// OpenSSL's object is for one thread at a time: a mutex is held while it encrypts or decrypts, a record at a time, and
// never while anybody waits, since it sees memory only; the socket is read and written beside it. So that wait_handle()
// can be the socket, no more is taken out of it than goes to the caller at once: where the caller wants less than a
// record, the record's last byte stays in the socket until the rest of it is wanted.
//
// What try_write() has encrypted and could not send is not told as written: the caller comes with the same bytes again.
class TlsConnection final : public Connection {
 public:
  static constexpr std::uint8_t kFirstByte = 0x16;  // of whoever begins to speak TLS

  // What is asked of the other side's certificate.
  struct Demand {
    bool is_client = false;     // it is this side that connects
    bool checks_chain = false;  // signed by whom the context trusts
    std::string host;           // a client's: the name or number that it has to be for, where the chain is checked
    std::optional<KeyPin> pin;  // a client's: its key
  };

  // With a context of TlsClient or TlsServer.
  TlsConnection(ssl_ctx_st* context, std::unique_ptr<StreamConnection> stream, Demand demand);
  ~TlsConnection() override;

  using Deadline = std::chrono::steady_clock::time_point;
  // kNoTls: the other side's first byte is none of TLS; it has not been taken. kFailed: failure() says why.
  enum class Handshake { kDone, kNoTls, kFailed };
  Handshake handshake(Deadline deadline);
  // What the other side did or has, for people, as in "the server ...".
  const std::string& failure() const { return failure_; }
  // For what is said in place of TLS.
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
  const PeerCertificate* peer_certificate() const override { return certificate_ ? &*certificate_ : nullptr; }

  // Keys are replaced after so many records, well before AES-GCM's bound of 2^24.5 (RFC 8446, 5.5). For tests.
  void set_records_per_key(std::uint64_t records) { records_per_key_ = records; }

  // What OpenSSL calls back for.
  std::size_t take_received(MutableBytes to);
  void put_sealed(Bytes bytes) { sealed_.append(bytes); }
  bool judge(x509_store_ctx_st* store);

 private:
  static constexpr std::size_t kHeaderSize = 5;  // of a record: its type, a version, how many bytes follow
  static constexpr std::size_t kRecordMax = kHeaderSize + (16u << 10) + 256;
  static constexpr std::size_t kStrangersRecordMax = 8u << 10;  // while who connects has not finished the handshake

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
  bool is_ready_ = false;  // the handshake is done
  std::string failure_;
  std::optional<PeerCertificate> certificate_;

  Mutex mutex_;
  Ssl ssl_ GUARDED_BY(mutex_);
  ByteBuffer sealed_;  // by mutex_ also: what OpenSSL wants sent, by whichever thread it was called
  std::uint64_t records_ GUARDED_BY(mutex_) = 0;
  std::uint64_t records_per_key_ = std::uint64_t{1} << 22;

  // The reader's.
  ByteBuffer received_;  // of one record at most, when a call ends
  std::size_t received_begin_ = 0;
  std::size_t opening_ = 0;      // bytes of the record that OpenSSL may take now
  std::size_t undelivered_ = 0;  // bytes of a record that has been opened
  bool last_byte_kept_ = false;  // of that record, in the socket
  std::chrono::milliseconds read_timeout_{0};

  // The writer's.
  ByteBuffer outgoing_;
  std::size_t sent_ = 0;  // of outgoing_
  std::size_t owed_ = 0;  // bytes that are in outgoing_ and have not been told as written
};

}  // namespace remotecl
