// What TLS costs: a round trip and bulk data between two processes of this host over a TCP connection, in plain text
// and encrypted, in turns; and how fast this machine's OpenSSL encrypts memory with the same cipher, in the same run.
// Figures for people; asserts nothing.
#include <openssl/evp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include "measure.h"
#include "runtime/transport/tcp/tcp.h"
#include "runtime/transport/tls/tls.h"
#include "stream_peer.h"
#include "support/certificates.h"

namespace remotecl::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kRecordBytes = 16u << 10;
constexpr std::size_t kRoundTrips = 5000;
constexpr std::size_t kTransfers = 25;

std::unique_ptr<Connection> secured(std::unique_ptr<TlsConnection> connection) {
  if (connection->handshake(std::chrono::steady_clock::now() + 5s) != TlsConnection::Handshake::kDone) {
    throw std::runtime_error(connection->failure());
  }
  return connection;
}

int run_child(const Address& address, const KeyPin& pin) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const TlsClient tls({pin, {}, {}, {}});
  std::vector<std::unique_ptr<Connection>> connections;
  for (int i = 0; i < 2; ++i) connections.push_back(tcp::connect(address, 5s));
  for (int i = 0; i < 2; ++i) connections.push_back(secured(tls.wrap(tcp::connect(address, 5s), address)));
  std::vector<std::thread> threads;
  for (const auto& connection : connections) threads.emplace_back([&connection] { serve(*connection); });
  for (auto& thread : threads) thread.join();
  return 0;
}

// AES-128-GCM over one record's bytes again and again, as `openssl speed -evp aes-128-gcm -bytes 16384` does.
double encryption_seconds(std::size_t size) {
  std::vector<unsigned char> from(kRecordBytes, 1), to(kRecordBytes + 16);
  const unsigned char key[16] = {}, nonce[12] = {};
  EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
  EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nullptr, key, nonce);
  const Stopwatch watch;
  for (std::size_t at = 0; at < size; at += kRecordBytes) {
    int count = 0;
    EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, nonce);
    EVP_EncryptUpdate(context, to.data(), &count, from.data(), static_cast<int>(kRecordBytes));
    EVP_EncryptFinal_ex(context, to.data(), &count);
  }
  const double seconds = watch.seconds();
  EVP_CIPHER_CTX_free(context);
  return seconds;
}

void show_transfers(Connection& plain, Connection& encrypted, std::size_t size) {
  const std::vector<std::byte> data(size, std::byte{1});
  std::vector<double> over_plain, over_tls, cipher;
  for (std::size_t i = 0; i < kTransfers + 1; ++i) {
    const double plain_seconds = send(plain, data), tls_seconds = send(encrypted, data);
    const double cipher_seconds = encryption_seconds(size);
    if (i == 0) continue;  // pages of the peer come into being
    over_plain.push_back(plain_seconds);
    over_tls.push_back(tls_seconds);
    cipher.push_back(cipher_seconds);
  }
  const auto speed = [size](const std::vector<double>& seconds) {
    return static_cast<double>(size) / summarize(seconds).median * 1e-9;
  };
  std::printf("%7.2f MiB  plain %5.2f GB/s   TLS %5.2f GB/s (%.0f %%)   AES-128-GCM alone %5.2f GB/s (%.0f %%)\n",
              static_cast<double>(size) / (1u << 20), speed(over_plain), speed(over_tls),
              100 * speed(over_tls) / speed(over_plain), speed(cipher), 100 * speed(over_tls) / speed(cipher));
}

void show_round_trips(Connection& plain, Connection& encrypted) {
  begin_echo(plain);
  begin_echo(encrypted);
  std::vector<double> over_plain, over_tls;
  for (std::size_t i = 0; i < kRoundTrips; ++i) {
    over_plain.push_back(round_trip(plain));
    over_tls.push_back(round_trip(encrypted));
  }
  const Summary plain_time = summarize(over_plain), tls_time = summarize(over_tls);
  std::printf("   64 bytes  there and back: plain %.1f us (p99 %.1f)   TLS %.1f us (p99 %.1f), %+.1f us\n",
              plain_time.median * 1e6, plain_time.p99 * 1e6, tls_time.median * 1e6, tls_time.p99 * 1e6,
              (tls_time.median - plain_time.median) * 1e6);
}

int run() {
  const testing::PrivateFolder folder;
  const auto files = testing::own_certificate(folder, "server");
  tcp::Listener listener({"127.0.0.1", 0});
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_child(listener.address(), files.pin));
  {
    const TlsServer tls({files.certificate, files.key, {}});
    const std::unique_ptr<Connection> plain_bulk = listener.accept(), plain_echo = listener.accept();
    const auto tls_bulk = secured(tls.wrap(listener.accept()));
    const auto tls_echo = secured(tls.wrap(listener.accept()));
    for (const std::size_t size : {256u << 10, 4u << 20, 64u << 20}) show_transfers(*plain_bulk, *tls_bulk, size);
    show_round_trips(*plain_echo, *tls_echo);
  }
  ::waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace remotecl::bench

int main() {
  try {
    return remotecl::bench::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tls_bench: %s\n", error.what());
    return 1;
  }
}
