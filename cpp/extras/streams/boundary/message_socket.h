#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/bytes.h"

namespace remotecl::plugins {

// One end of a connection that keeps packets apart and passes descriptors. Owns its descriptor. Movable; one thread.
class MessageSocket {
 public:
  struct Packet {
    std::size_t size = 0;
    std::vector<int> descriptors;  // owned by whoever has the packet
  };
  using Clock = std::chrono::steady_clock;

  explicit MessageSocket(int descriptor = -1) : descriptor_(descriptor) {}
  ~MessageSocket();
  MessageSocket(MessageSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  MessageSocket& operator=(MessageSocket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  // Makes two connected ends, closed on exec. Throws std::system_error.
  static std::pair<MessageSocket, MessageSocket> make();

  int descriptor() const { return descriptor_; }
  // Returns false if the other side is gone or does not read.
  bool send(Bytes packet, std::span<const int> descriptors = {}) const;
  // Nothing at `end`, or when the other side is gone. A packet that is larger than `to` has the size 0.
  std::optional<Packet> receive(MutableBytes to, std::optional<Clock::time_point> end = {}) const;

 private:
  int descriptor_;
};

}  // namespace remotecl::plugins
