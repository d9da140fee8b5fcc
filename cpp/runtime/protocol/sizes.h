#pragma once

#include <cstddef>
#include <cstdint>

// The sizes that client and server, or several rooms, share, each with its reason.
namespace remotecl {

// ---- Part of the protocol: both sides use the same numbers, so a change is a new protocol version.

// Bounds on the memory that a peer can make us hold.
// One control message. Recorded command buffers and program sources are the largest.
inline constexpr std::uint32_t kMessageSizeMax = 64u << 20;
// A program's source, IL or binary, or the headers and options of a build: one message beside its other values.
inline constexpr std::uint32_t kProgramSizeMax = kMessageSizeMax - (64u << 10);
// Data inside a control message. More would delay the messages behind it, such as a 4-byte read.
inline constexpr std::uint32_t kInlineDataMax = 64u << 10;
// One chunk on a bulk connection. Chunks of several transfers alternate, so this is how long one waits for another.
inline constexpr std::uint32_t kBulkChunkMax = 4u << 20;
// A compressed chunk, which the receiver holds both before and after decompression.
inline constexpr std::uint32_t kPackedChunkMax = 1u << 20;
// A write whose bytes are sent without being pulled, which saves a round trip and the threads that it wakes. They are
// one chunk.
inline constexpr std::uint32_t kPushMax = kBulkChunkMax;
// Such bytes on a channel, in flight or waiting: the server keeps those whose command cannot begin.
inline constexpr std::uint64_t kPushedBytesMax = std::uint64_t{4} * kPushMax;
// The chunks whose digests a client may offer: small enough that a changed layer sends little else, and large enough
// that a file of its own for each costs nothing.
inline constexpr std::uint32_t kUploadChunk = 1u << 20;
// Offered chunks in one message, and in a transfer before their bytes have come: the server keeps a file open for each
// that it has.
inline constexpr std::uint32_t kOfferedChunksMax = 64;
inline constexpr std::uint32_t kPendingChunksMax = 2 * kOfferedChunksMax;
// The text in a Welcome.
inline constexpr std::uint32_t kWelcomeTextMax = 1024;

// The peers of a session, so the servers of a client.
inline constexpr std::uint32_t kPeersMax = 1024;
// The bulk channels of a session, of which each has threads of its own.
inline constexpr unsigned kBulkChannelsMax = 8;
// The connections of one stream, of which each keeps a core busy at both ends.
inline constexpr unsigned kStripesMax = 8;
// The bytes that each of several connections takes in turn: the smallest block that is worth waking a thread
// for.
inline constexpr std::size_t kStripeBlock = 128u << 10;
// The most bytes that are announced at once on several connections. Larger writes are divided.
inline constexpr std::size_t kStripeRunMax = 64u << 20;

// ---- Each side's own choice.

// The receiver acknowledges after this many bytes. The sender must keep what is not acknowledged, and a
// message for each MiB costs nothing in comparison.
inline constexpr std::uint64_t kAcknowledgeEvery = 1u << 20;
// Copies of unacknowledged bytes are kept up to this size; then writers wait. Borrowed buffers do not count.
inline constexpr std::uint64_t kReplayBytesMax = 32u << 20;
// A blocking write of up to this size is copied when it is pushed: waiting for the acknowledgement would bring the
// round trip back. A larger push would hold up others on a slow link, and would not be offered there.
inline constexpr std::uint32_t kSmallPushMax = 1u << 20;

// The ring of each direction in shared memory. It must stay in the caches, where both sides copy; rings of 512 KiB
// reached 85 % of the memory's speed, and rings of 1 MiB or more all of it.
inline constexpr std::size_t kSharedRing = 2u << 20;

// The slots of pinned memory through which each thread passes a device's bulk data. With 2 MiB, the overlap
// of network and device copies hides the cost of waking the thread that transfers a piece (docs/decisions).
inline constexpr std::size_t kStagingSlot = 2u << 20;
inline constexpr std::size_t kStagingSlots = 4;
// Transfers that fit into the slots use pieces of this size for each stream, so that they overlap too.
inline constexpr std::size_t kStagingSmallPiece = 256u << 10;
static_assert(kStripeBlock <= kStagingSmallPiece, "or a stream's part of a small piece is not worth a thread");

// The most that a rate-limited connection transfers at once, so that it does not run up a large debt.
inline constexpr std::size_t kRateLimitedPiece = 256u << 10;

}  // namespace remotecl
