#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "extras/kernel_sockets/space/kernel_run.h"
#include "extras/kernel_sockets/space/layout.h"
#include "extras/kernel_sockets/space/proxy.h"
#include "extras/kernel_sockets/space/rings.h"

namespace remotecl::testing {

// The proxy over memory that no device has: the test writes what kernels write. `Broker` opens the sockets.
template <class Broker>
class ProxyTest : public ::testing::Test {
 protected:
  std::byte* data() { return memory_.data(); }
  // The hooks may be changed before.
  void begin() {
    proxy_ = std::make_unique<server::Proxy>(data(), shape_, hooks_);
    proxy_->kernel_begins();
  }
  void word(std::uint32_t at, std::uint32_t value) { server::store_shared(data() + at, value); }
  std::uint32_t line(std::uint32_t index, server::layout::Line at) {
    return server::load_shared(data() + layout_.lines + server::layout::kLineSize * index + 4 * at);
  }
  void request(std::uint32_t index, std::uint32_t operation, std::uint32_t first = 0, const std::string& text = "") {
    using namespace server;
    const std::uint32_t area = layout_.areas + layout::kRequestSize * index;
    word(area + layout::kOperation, operation);
    word(area + layout::kFirst, first);
    word(area + layout::kSecond, 0);
    word(area + layout::kTextLength, static_cast<std::uint32_t>(text.size()));
    std::memcpy(data() + area + layout::kTextOffset, text.data(), std::min(text.size(), SocketAddress::kTextMax));
    const std::uint32_t at = layout_.requests + 4 * index;
    word(at, load_shared(data() + at) + 1);
  }
  // Adds bytes to what the socket sends. REQUIRES: they fit.
  void send(std::uint32_t index, const std::vector<std::uint8_t>& bytes) {
    const std::uint32_t at = layout_.send_tails + 4 * index, tail = server::load_shared(data() + at);
    const server::RingBytes ring(data() + layout_.rings + 2ull * index * shape_.ring_bytes, shape_.ring_bytes);
    ring.copy_in(tail, bytes.data(), static_cast<std::uint32_t>(bytes.size()));
    word(at, tail + static_cast<std::uint32_t>(bytes.size()));
  }
  // Whether it comes true within ten seconds.
  static bool soon(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  // Whether the socket soon gets into one of these states.
  bool becomes(std::uint32_t index, std::uint32_t states) {
    return soon([&] { return (line(index, server::layout::kState) & states) != 0; });
  }
  // Whether the last request is soon answered.
  bool is_answered(std::uint32_t index) {
    const std::uint32_t number = server::load_shared(data() + layout_.requests + 4 * index);
    return soon([&] { return line(index, server::layout::kReply) == number; });
  }

  const server::SpaceShape shape_{8, 1024};
  const server::SpaceLayout layout_{shape_};
  const Ref<Broker> broker_ = make_ref<Broker>();
  server::KernelSocketSpace::Hooks hooks_{broker_, make_ref<server::SocketAccount>(), make_ref<server::KernelNames>(),
                                          threads_of_tests()};
  // Aligned as a page is not, which the host does not need. The rest, of some other value, must not change.
  static constexpr std::size_t kRest = 64;
  std::vector<std::byte> memory_ = [this] {
    std::vector<std::byte> memory(layout_.size + kRest, std::byte{0});
    std::fill(memory.end() - kRest, memory.end(), std::byte{0x5a});
    return memory;
  }();
  std::unique_ptr<server::Proxy> proxy_;
};

}  // namespace remotecl::testing
