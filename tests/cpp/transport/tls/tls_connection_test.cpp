// What TLS adds to what every transport promises (connection_test.cpp): records, keys that change, and peers that do
// something else.
#include "runtime/transport/tls/tls_connection.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <random>
#include <thread>
#include <vector>

#include "runtime/transport/tcp/dead_peer_detector.h"
#include "transport/pattern.h"
#include "transport/tls/tls_pair.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;
using Handshake = TlsConnection::Handshake;

std::vector<std::byte> pattern(std::size_t size, std::uint64_t from = 0) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern_at(from + i);
  return bytes;
}

bool is_readable(const Connection& connection, int timeout_ms) {
  pollfd wait{connection.wait_handle(), POLLIN, 0};
  return ::poll(&wait, 1, timeout_ms) == 1;
}

class TlsConnectionTest : public ::testing::Test {
 protected:
  TlsPair pair_ = make_tls_pair();
  TlsConnection& near_ = *pair_.near;
  TlsConnection& far_ = *pair_.far;
};

TEST_F(TlsConnectionTest, ShowsTheKeyOfTheServerOnly) {
  ASSERT_NE(near_.peer_certificate(), nullptr);
  EXPECT_EQ(near_.peer_certificate()->objection, "");
  EXPECT_EQ(far_.peer_certificate(), nullptr);
}

// Whoever polls must never sleep beside bytes that are there, however little of a record was taken before.
TEST_F(TlsConnectionTest, WaitHandleIsReadableAsLongAsThereIsSomethingToRead) {
  const std::vector<std::byte> sent = pattern(200'000);
  std::mt19937 random(1);
  for (std::size_t at = 0; at < sent.size();) {  // records of all sizes
    const std::size_t size = std::min<std::size_t>(sent.size() - at, 1 + random() % (at % 3 == 0 ? 30'000 : 60));
    ASSERT_TRUE(near_.write(Bytes(sent).subspan(at, size)));
    at += size;
  }
  std::vector<std::byte> got(sent.size());
  for (std::size_t at = 0; at < got.size();) {
    ASSERT_TRUE(is_readable(far_, 5000)) << at;
    const std::size_t wanted = std::min<std::size_t>(got.size() - at, 1 + random() % (at % 2 == 0 ? 100 : 20'000));
    const std::ptrdiff_t count = far_.try_read_some(MutableBytes(got).subspan(at, wanted));
    ASSERT_NE(count, 0);
    if (count > 0) at += static_cast<std::size_t>(count);
  }
  EXPECT_EQ(got, sent);
  EXPECT_FALSE(is_readable(far_, 0)) << "nothing is left";
  std::byte more;
  EXPECT_EQ(far_.try_read_some({&more, 1}), -1);
}

TEST_F(TlsConnectionTest, EndAfterABytewiseReadIsSeen) {
  near_.write(as_bytes("abc"));
  pair_.near.reset();
  std::byte got[1];
  for (const char* expected : {"a", "b", "c"}) {
    ASSERT_TRUE(is_readable(far_, 5000));
    ASSERT_EQ(far_.try_read_some(got), 1);
    EXPECT_EQ(as_text(got), expected);
  }
  EXPECT_TRUE(is_readable(far_, 5000));
  EXPECT_EQ(far_.try_read_some(got), 0);
}

TEST_F(TlsConnectionTest, BytesThatTryWriteCouldNotSendAreNotSentTwice) {
  const std::vector<std::byte> sent = pattern(32u << 20);
  std::size_t at = 0;
  for (std::ptrdiff_t count = 1; count > 0;) {
    count = near_.try_write(Bytes(sent).subspan(at));
    ASSERT_GE(count, 0);
    at += static_cast<std::size_t>(count);
  }
  ASSERT_LT(at, sent.size()) << "the socket takes all of it: nothing is tested";
  EXPECT_EQ(near_.bytes_sent(), at);
  std::vector<std::byte> got(sent.size());
  std::thread reader([&] { EXPECT_TRUE(far_.read_exactly(got)); });
  at += static_cast<std::size_t>(std::max<std::ptrdiff_t>(near_.try_write(Bytes(sent).subspan(at)), 0));
  EXPECT_TRUE(near_.write(Bytes(sent).subspan(at)));
  reader.join();
  EXPECT_EQ(got, sent);
  EXPECT_EQ(near_.bytes_sent(), sent.size());
}

void exchange(TlsConnection& near, TlsConnection& far, std::size_t size) {
  const auto send = [size](TlsConnection& connection, std::uint64_t from) {
    std::mt19937 random(static_cast<unsigned>(from));
    const std::vector<std::byte> bytes = pattern(size, from);
    for (std::size_t at = 0; at < size;) {
      const std::size_t count = std::min<std::size_t>(size - at, 1 + random() % 70'000);
      if (!connection.write(Bytes(bytes).subspan(at, count))) return ADD_FAILURE() << "cannot write";
      at += count;
    }
  };
  const auto receive = [size](TlsConnection& connection, std::uint64_t from) {
    std::mt19937 random(static_cast<unsigned>(from));
    std::vector<std::byte> got(size);
    for (std::size_t at = 0; at < size;) {
      const std::size_t wanted = std::min<std::size_t>(size - at, 1 + random() % 90'000);
      const std::size_t count = connection.read_some(MutableBytes(got).subspan(at, wanted));
      if (count == 0) return ADD_FAILURE() << "the end after " << at;
      at += count;
    }
    EXPECT_EQ(got, pattern(size, from));
  };
  std::thread threads[] = {std::thread(send, std::ref(near), 1), std::thread(receive, std::ref(near), 2),
                           std::thread(send, std::ref(far), 2), std::thread(receive, std::ref(far), 1)};
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TlsConnectionTest, BothDirectionsAtOnce) { exchange(near_, far_, 12u << 20); }

TEST_F(TlsConnectionTest, BothDirectionsAtOnceWhileKeysChange) {
  near_.set_records_per_key(5);
  far_.set_records_per_key(3);
  exchange(near_, far_, 3u << 20);
}

TEST_F(TlsConnectionTest, WhatIsNotEncryptedEndsIt) {
  const std::byte forged[] = {std::byte{0x17}, std::byte{3}, std::byte{3}, std::byte{0}, std::byte{20}};
  near_.write(as_bytes("ab"));
  near_.stream().write(Bytes(forged), Bytes(pattern(20)));
  std::byte got[3];
  EXPECT_EQ(far_.read_some(got), 2u);
  EXPECT_EQ(far_.read_some(got), 0u);
  EXPECT_EQ(far_.try_read_some(got), 0);
  bool written = true;
  for (int i = 0; i < 100 && written; ++i) written = far_.write(pattern(1u << 20));
  EXPECT_FALSE(written) << "in both directions";
}

TEST_F(TlsConnectionTest, RecordOfImpossibleSizeEndsItAtOnce) {
  const std::byte header[] = {std::byte{0x17}, std::byte{3}, std::byte{3}, std::byte{0xff}, std::byte{0xff}};
  near_.stream().write(Bytes(header));
  std::byte got[3];
  EXPECT_EQ(far_.read_some(got), 0u);
}

TEST_F(TlsConnectionTest, BytesThatTrickleDoNotStretchTheReadTimeout) {
  far_.set_read_timeout(100ms);
  std::thread trickle([this] {
    const std::byte header[] = {std::byte{0x17}, std::byte{3}, std::byte{3}, std::byte{1}};
    for (const std::byte& byte : header) {
      near_.stream().write(Bytes(&byte, 1));
      std::this_thread::sleep_for(60ms);
    }
  });
  std::byte got[3];
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(far_.read_some(got), 0u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 200ms);
  trickle.join();
}

// An end that is not ours: OpenSSL with a blocking socket.
class OtherEnd {
 public:
  OtherEnd(const SSL_METHOD* method, std::unique_ptr<StreamConnection> stream)
      : stream_(std::move(stream)), context_(SSL_CTX_new(method)), ssl_(SSL_new(context_)) {
    SSL_set_fd(ssl_, stream_->wait_handle());
    SSL_set_msg_callback(ssl_, count_key_updates);
    SSL_set_msg_callback_arg(ssl_, this);
  }
  ~OtherEnd() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  SSL* ssl() { return ssl_; }
  SSL_CTX* context() { return context_; }
  StreamConnection& stream() { return *stream_; }
  // What it would send; from now on it does not.
  std::vector<std::byte> record_of(const std::string& text) {
    SSL_set0_wbio(ssl_, BIO_new(BIO_s_mem()));
    SSL_write(ssl_, text.data(), static_cast<int>(text.size()));
    std::vector<std::byte> record(BIO_pending(SSL_get_wbio(ssl_)));
    BIO_read(SSL_get_wbio(ssl_), record.data(), static_cast<int>(record.size()));
    return record;
  }
  int key_updates() const { return key_updates_; }  // that have come

 private:
  static void count_key_updates(int is_written, int, int type, const void* message, std::size_t size, SSL*,
                                void* self) {
    const auto* const bytes = static_cast<const unsigned char*>(message);
    if (is_written == 0 && type == SSL3_RT_HANDSHAKE && size > 0 && bytes[0] == SSL3_MT_KEY_UPDATE) {
      ++static_cast<OtherEnd*>(self)->key_updates_;
    }
  }
  std::unique_ptr<StreamConnection> stream_;
  SSL_CTX* context_;
  SSL* ssl_;
  int key_updates_ = 0;
};

class OtherClientTest : public ::testing::Test {
 protected:
  OtherClientTest() {
    const auto files = testing::own_certificate(folder_, "server");
    auto [near, far] = make_tcp_pair();
    server_ = TlsServer({files.certificate, files.key, {}}).wrap(std::move(far));
    client_ = std::make_unique<OtherEnd>(TLS_client_method(), std::move(near));
  }
  Handshake shake_hands() {
    std::thread connecting([this] { SSL_connect(client_->ssl()); });
    const Handshake result = server_->handshake(soon());
    if (result != Handshake::kDone) server_->shutdown();
    connecting.join();
    return result;
  }

  testing::PrivateFolder folder_;
  std::unique_ptr<TlsConnection> server_;
  std::unique_ptr<OtherEnd> client_;
};

TEST_F(OtherClientTest, KeysAreReplacedAfterSoManyRecords) {
  ASSERT_EQ(shake_hands(), Handshake::kDone) << server_->failure();
  server_->set_records_per_key(4);
  char got[2];
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(server_->write(as_bytes("ab")));
    ASSERT_EQ(SSL_read(client_->ssl(), got, 2), 2);
  }
  EXPECT_EQ(client_->key_updates(), 2);
}

TEST_F(OtherClientTest, KeyUpdatesOfTheOtherSideAreAnswered) {
  ASSERT_EQ(shake_hands(), Handshake::kDone) << server_->failure();
  std::byte got[2];
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(SSL_key_update(client_->ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(SSL_write(client_->ssl(), "ab", 2), 2);
    ASSERT_TRUE(server_->read_exactly({got, 1}));  // less than the record
    ASSERT_TRUE(server_->read_exactly({got, 1}));
    ASSERT_TRUE(server_->write(as_bytes("cd")));
    char answer[2];
    ASSERT_EQ(SSL_read(client_->ssl(), answer, 2), 2);
  }
  EXPECT_EQ(client_->key_updates(), 3);
  EXPECT_EQ(server_->try_read_some(got), -1);
}

// Nothing protects the size of a record until all of it is there.
TEST_F(OtherClientTest, RestOfARecordThatDoesNotComeIsNotAwaitedForever) {
  ASSERT_EQ(shake_hands(), Handshake::kDone) << server_->failure();
  std::vector<std::byte> record = client_->record_of("ab");
  record[3] |= std::byte{1};
  ASSERT_TRUE(client_->stream().write(Bytes(record)));
  std::thread reader([this] {
    std::byte got;
    EXPECT_EQ(server_->read_some({&got, 1}), 0u);
  });
  EXPECT_TRUE(is_readable(client_->stream(), static_cast<int>(3000 * heartbeat_interval().count() + 3000)));
  std::byte end;
  EXPECT_EQ(client_->stream().try_read_some({&end, 1}), 0);
  client_->stream().shutdown();
  reader.join();
}

TEST_F(OtherClientTest, RestOfARecordMayComeSlowlyAndMayBeReadLate) {
  ASSERT_EQ(shake_hands(), Handshake::kDone) << server_->failure();
  const int heartbeat_ms = static_cast<int>(1000 * heartbeat_interval().count());
  const std::vector<std::byte> record = client_->record_of("ab");
  std::byte got[2];
  for (std::size_t at = 0; at < 8; ++at) {
    ASSERT_TRUE(client_->stream().write(Bytes(record).subspan(at, 1)));
    EXPECT_FALSE(is_readable(client_->stream(), heartbeat_ms / 2));
    EXPECT_EQ(server_->try_read_some(got), -1);
  }
  ASSERT_TRUE(client_->stream().write(Bytes(record).subspan(8)));
  EXPECT_FALSE(is_readable(client_->stream(), 4 * heartbeat_ms));
  EXPECT_EQ(server_->try_read_some(got), 2);
  EXPECT_EQ(as_text(got), "ab");
  EXPECT_FALSE(is_readable(client_->stream(), heartbeat_ms));
}

TEST_F(OtherClientTest, OlderVersionsOfTlsAreRefused) {
  SSL_set_max_proto_version(client_->ssl(), TLS1_2_VERSION);
  EXPECT_EQ(shake_hands(), Handshake::kFailed);
  EXPECT_NE(server_->failure().find("could not agree on TLS"), std::string::npos) << server_->failure();
}

TEST_F(OtherClientTest, NobodyIsAskedForASecondClientHello) {
  SSL_set1_groups_list(client_->ssl(), "P-384:X25519");  // the key share is of the first one
  EXPECT_EQ(shake_hands(), Handshake::kFailed);
  EXPECT_NE(server_->failure().find("none of ours"), std::string::npos) << server_->failure();
}

}  // namespace
}  // namespace remotecl
