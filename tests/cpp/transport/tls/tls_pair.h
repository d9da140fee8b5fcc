#pragma once

#include <future>
#include <memory>
#include <utility>

#include "runtime/transport/tcp/tcp.h"
#include "runtime/transport/tls/tls.h"
#include "support/certificates.h"

namespace remotecl {

// Both ends of a TCP connection in this process.
inline std::pair<std::unique_ptr<StreamConnection>, std::unique_ptr<StreamConnection>> make_tcp_pair() {
  tcp::Listener listener({"127.0.0.1", 0});
  auto near = tcp::connect(listener.address(), std::chrono::seconds(5));
  return {std::move(near), listener.accept()};
}

inline TlsConnection::Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }

// Both ends of one, and what their handshakes said.
struct TlsPair {
  std::unique_ptr<TlsConnection> near, far;
  TlsConnection::Handshake near_end{}, far_end{};
};

inline TlsPair shake_hands(const TlsClient& client, const TlsServer& server, const std::string& host = "127.0.0.1") {
  auto [near, far] = make_tcp_pair();
  TlsPair pair{client.wrap(std::move(near), {host, 0}), server.wrap(std::move(far))};
  auto accepting = std::async(std::launch::async, [&pair] { return pair.far->handshake(soon()); });
  pair.near_end = pair.near->handshake(soon());
  if (pair.near_end != TlsConnection::Handshake::kDone) pair.near->shutdown();
  pair.far_end = accepting.get();
  return pair;
}

// With a key of its own that the client has pinned.
inline TlsPair make_tls_pair() {
  const testing::PrivateFolder folder;
  const auto files = testing::own_certificate(folder, "server");
  return shake_hands(TlsClient({files.pin, {}, {}, {}}), TlsServer({files.certificate, files.key, {}}));
}

}  // namespace remotecl
