#pragma once

#include <cstdint>

#include "extras/kernel_sockets/space/space_shape.h"

namespace remotecl::server {

// The layout of a network's memory. net.cl gets these constants as macros, so that both sides share them. Words are 32
// bits. Each word has one writer: the kernels, or the host. Words of the kernels that the host scans lie close
// together. Words of the host that a kernel waits for share one line for each socket, so that one read over PCIe gets
// all of them.
namespace layout {

inline constexpr std::uint32_t kMagic = 0x4c435231;
inline constexpr std::uint32_t kLineSize = 64;
inline constexpr std::uint32_t kHeaderSize = 4096;
inline constexpr std::uint32_t kRequestSize = 128;  // kTextOffset bytes of words, then the text

// The header, in bytes from the beginning. The host writes all of it but kCursor.
enum Header : std::uint32_t {
  kMagicAt = 0,
  kSocketsAt = 4,
  kRingBytesAt = 8,
  kClaimsAt = 12,  // where the arrays below begin
  kRequestsAt = 16,
  kSendTailsAt = 20,
  kReceiveHeadsAt = 24,
  kLinesAt = 28,
  kAreasAt = 32,
  kRingsAt = 36,
  kStopAt = 64,     // not 0: every wait ends
  kClockAt = 68,    // milliseconds, while a kernel runs
  kCursorAt = 128,  // where kernels begin to look for a free socket
};

// The host's line of a socket, in words.
enum Line : std::uint32_t {
  kReceiveTail = 0,
  kSendHead = 1,
  kState = 2,
  kGeneration = 3,  // the socket is free while its claim is another number
  kReply = 4,       // the last request that the host has taken
  kValue = 5,       // its result
  kError = 6,       // a positive errno, with kFailed
  kPort = 7,
  kPeerPort = 8,  // the result of kResolve
  kPeerIp = 9,    // four words
};

enum StateBits : std::uint32_t {
  kConnected = 1,
  kListening = 2,
  kEndOfStream = 4,  // nothing comes after kReceiveTail
  kFailed = 8,
  kStopped = 16,  // the network
  kPending = 32,  // a listener has connections
  kDatagram = 64,
  kClosing = 128,
};

// A kernel's request: kOperation, kFirst, kSecond and kTextLength, then the text.
enum Request : std::uint32_t { kOperation = 0, kFirst = 4, kSecond = 8, kTextLength = 12, kTextOffset = 16 };

enum Operation : std::uint32_t {
  kConnect = 1,   // text; into a free socket
  kBind = 2,      // text, kFirst: the backlog; into a free socket
  kAccept = 3,    // kFirst: the listener's handle, kSecond: not 0 to fail with EAGAIN; into a free socket
  kShutdown = 4,  // the sending direction
  kClose = 5,
  kResolve = 6,  // text
};

// The highest bit of a claim: the kernels have closed the socket. Generations do not have it.
inline constexpr std::uint32_t kClosed = 1u << 31;

// A handle: the socket's index, and the low bits of its generation above.
inline constexpr std::uint32_t kIndexBits = 14;
inline constexpr std::uint32_t kGenerationMask = 0x1ffff;
static_assert(SpaceShape::kSocketsMax <= 1u << kIndexBits);
constexpr std::uint32_t handle(std::uint32_t index, std::uint32_t generation) {
  return index | (generation & kGenerationMask) << kIndexBits;
}

// A datagram in a ring: its size, the peer's port (0: where the socket is connected to) and address, padding, then the
// bytes. The next one begins at a multiple of kRecordHeader, so no header is in two pieces.
inline constexpr std::uint32_t kRecordHeader = 32;
inline constexpr std::uint32_t kRecordPort = 4;
inline constexpr std::uint32_t kRecordIp = 8;
constexpr std::uint32_t record_size(std::uint32_t bytes) {
  return kRecordHeader + (bytes + kRecordHeader - 1) / kRecordHeader * kRecordHeader;
}

}  // namespace layout

// Where the arrays begin in the memory of a network of this shape. A value.
struct SpaceLayout {
  explicit SpaceLayout(const SpaceShape& shape);

  std::uint32_t claims, requests, send_tails, receive_heads;  // a word for each socket, of the kernels
  std::uint32_t lines;                                        // of the host
  std::uint32_t areas;                                        // requests
  std::uint32_t rings;                                        // for each socket: what is sent, what is received
  std::uint64_t size;
};

}  // namespace remotecl::server
