#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/base/bytes.h"

// The messages between two channels, besides the bytes of transfers. Little-endian, as in memory.
namespace remotecl::rdma {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::size_t kBufferBytes = 2048;  // of a message with its header
// How many windows of one side may be open at a time, for transfers whose destination the other side knows.
inline constexpr unsigned kWindows = 16;

// Begins every request and every reply, before the caller's bytes.
struct Preamble {
  static constexpr std::array<char, 4> kMagic = {'r', 'c', 'l', 'R'};
  static constexpr std::uint16_t kVersion = 3;

  std::array<char, 4> magic = kMagic;
  std::uint16_t version = kVersion;
  std::uint16_t size = 0;  // of what follows: the connection manager may add zeros
};

enum class MessageKind : std::uint8_t { kGrant = 1, kSkip = 2, kCredit = 3 };

struct MessageHeader {
  MessageKind kind;
  std::uint8_t unused = 0;
  std::uint16_t size;   // of what follows
  std::uint32_t limit;  // how many writes the receiver of this may have sent (MessageCredits)
};

// The destination of this transfer's next bytes. Every write has the slot as its immediate.
struct GrantMessage {
  std::uint64_t transfer;
  std::uint64_t address;
  std::uint64_t size;
  std::uint32_t key;
  std::uint32_t slot;
};

// Tells the sender not to send the next bytes of this transfer, for which there is no destination.
struct SkipMessage {
  std::uint64_t transfer;
  std::uint64_t size;
};

// Returns false if the size differs.
template <class T>
bool decode(Bytes from, T& value) {
  if (from.size() != sizeof(T)) return false;
  std::memcpy(&value, from.data(), sizeof(T));
  return true;
}

// A message as it travels.
template <class T>
Bytes bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace remotecl::rdma
