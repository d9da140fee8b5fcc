#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "extras/rdma/rdma_dialer.h"
#include "extras/rdma/rdma_listener.h"
#include "extras/rdma/rdma_ports.h"

namespace remotecl::testing {

using namespace std::chrono_literals;

inline constexpr const char* kV4 = "10.9.0.1";  // of the guest (scripts/rdma-guest.sh)
inline constexpr const char* kV6 = "fd09::1";
inline constexpr auto kDialTime = 20s;  // the guest is slow

// Whether memory windows are used, which is not the case with Soft-RoCE otherwise.
inline bool uses_windows() { return std::getenv("REMOTECL_TEST_RDMA_WINDOWS") != nullptr; }

// For tests that need a device: they are skipped without one, but not where REMOTECL_TEST_RDMA says that there is one.
inline void skip_without_rdma() {
  if (uses_windows()) ProtectionDomain::count_all_windows();
  try {
    active_rdma_ports();
  } catch (const RdmaUnavailable& missing) {
    if (std::getenv("REMOTECL_TEST_RDMA") != nullptr) FAIL() << missing.what();
    GTEST_SKIP() << missing.what();
  }
}
class RdmaTest : public ::testing::Test {
 protected:
  void SetUp() override { skip_without_rdma(); }
};

// Two channels of this process with each other.
struct RdmaPair {
  explicit RdmaPair(const std::string& host = kV4) : listener({host, 0}) {
    std::thread dialer([this] { near = dial_rdma(listener.address(), {}, kDialTime).channel; });
    far = listener.next()->accept({});
    dialer.join();
  }

  RdmaListener listener;
  std::unique_ptr<RdmaChannel> near, far;
};

inline std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 2654435761u >> 13) ^ (seed * 97u + 31u));
  return bytes;
}

// Memory and its registration with a channel.
struct Registered {
  Registered(const RdmaChannel& channel, std::vector<std::byte> content)
      : bytes(std::move(content)), registration(channel.register_memory(bytes)) {}
  RdmaSource source() const { return {bytes, registration.get()}; }
  RdmaDestination destination() { return {bytes, registration.get()}; }
  RdmaDestination part(std::size_t offset, std::size_t size) {
    return {MutableBytes(bytes).subspan(offset, size), registration.get()};
  }

  std::vector<std::byte> bytes;
  std::unique_ptr<RegisteredMemory> registration;
};

inline constexpr std::size_t kChunkBytes = 1u << 20;

// A whole transfer in chunks.
inline bool send_all(RdmaChannel& channel, std::uint64_t transfer, const RdmaSource& source, RdmaChannel::Use use) {
  for (std::size_t at = 0; at < source.bytes.size(); at += kChunkBytes) {
    const Bytes chunk = source.bytes.subspan(at, std::min(kChunkBytes, source.bytes.size() - at));
    if (!channel.send(transfer, {chunk, source.registration}, use)) return false;
  }
  return true;
}
inline bool receive_all(RdmaChannel& channel, std::uint64_t transfer, const RdmaDestination& to) {
  for (std::size_t at = 0; at < to.bytes.size();) {
    const std::size_t size = std::min(kChunkBytes, to.bytes.size() - at);
    channel.expect(transfer, size);
    if (!channel.receive({to.bytes.subspan(at, size), to.registration})) return false;
    at += size;
  }
  return true;
}

}  // namespace remotecl::testing
