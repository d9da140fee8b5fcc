#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

#include "runtime/transport/stream/resumable_connection.h"
#include "runtime/transport/tcp/loopback.h"
#include "runtime/transport/tcp/tcp.h"
#include "transport/shm/shared_memory_peer.h"
#include "transport/stream/striped_pair.h"
#include "transport/tls/tls_pair.h"

// Both ends of each kind of connection, for tests that run over all of them.
namespace remotecl::kinds {

using Pair = std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>>;

// A connection after whose read timeout the next read may find more.
struct GoesOnAfterTimeout {
  static constexpr bool kGoesOnAfterTimeout = true;
};
// One that is over then.
struct EndsWithTimeout {
  static constexpr bool kGoesOnAfterTimeout = false;
};

struct Tcp : GoesOnAfterTimeout {
  static Pair make() {
    tcp::Listener listener({"127.0.0.1", 0});
    auto near = tcp::connect(listener.address(), std::chrono::seconds(5));
    return {std::move(near), listener.accept()};
  }
};
struct Loopback : GoesOnAfterTimeout {
  static Pair make() { return loopback::make_pair(); }
};
struct SharedMemory : GoesOnAfterTimeout {
  static Pair make() { return make_memory_pair(); }
};
struct Tls : GoesOnAfterTimeout {
  static Pair make() {
    TlsPair pair = make_tls_pair();
    return {std::move(pair.near), std::move(pair.far)};
  }
};
struct Striped : EndsWithTimeout {
  static Pair make() {
    StripedPair pair = make_striped_pair(3);
    return {std::move(pair.near), std::move(pair.far)};
  }
};
// Which ends with the connection that carries it: tests of the stream have what happens otherwise.
struct Resumable : EndsWithTimeout {
  static std::unique_ptr<Connection> end(std::shared_ptr<Connection> carrier) {
    return std::make_unique<ResumableConnection>(std::move(carrier), std::chrono::milliseconds(0),
                                                 ResumableConnection::Hooks{{}, [](std::uint64_t) {}, {}});
  }
  static Pair make() {
    auto [near, far] = make_tcp_pair();
    return {end(std::move(near)), end(std::move(far))};
  }
};
struct ResumableOverStriped : EndsWithTimeout {
  static Pair make() {
    StripedPair pair = make_striped_pair(3);
    return {Resumable::end(std::move(pair.near)), Resumable::end(std::move(pair.far))};
  }
};
struct ResumableOverTls : EndsWithTimeout {
  static Pair make() {
    TlsPair pair = make_tls_pair();
    return {Resumable::end(std::move(pair.near)), Resumable::end(std::move(pair.far))};
  }
};
struct ResumableOverSharedMemory : EndsWithTimeout {
  static Pair make() {
    auto [near, far] = make_memory_pair();
    return {Resumable::end(std::move(near)), Resumable::end(std::move(far))};
  }
};

using All = ::testing::Types<Tcp, Loopback, SharedMemory, Tls, Striped, Resumable, ResumableOverStriped>;
// Streams over what else carries them.
using OtherCarriers = ::testing::Types<ResumableOverTls, ResumableOverSharedMemory>;

}  // namespace remotecl::kinds
