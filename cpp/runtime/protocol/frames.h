#pragma once

#include <array>
#include <cstdint>

#include "runtime/crypto/secret.h"
#include "runtime/protocol/codec.h"

// What frames every connection: the handshake, the header of control messages, the header of bulk chunks.
namespace remotecl {

inline constexpr std::uint16_t kDefaultPort = 10990;
inline constexpr std::uint32_t kProtocolVersion = 10;

// Bounds on what a peer can make us hold.
inline constexpr std::uint32_t kMessageSizeMax = 64u << 20;  // one control message
inline constexpr std::uint32_t kInlineDataMax = 64u << 10;   // data that travels inside a control message
inline constexpr std::uint32_t kBulkChunkMax = 4u << 20;     // one chunk on the bulk connection
inline constexpr std::uint32_t kPushMax = 1u << 20;          // bytes of a write that come unasked
inline constexpr std::uint64_t kPushedBytesMax = 8u << 20;   // such bytes of a channel, on their way or waiting
inline constexpr std::uint32_t kWelcomeTextMax = 1024;
inline constexpr std::uint32_t kHandshakeTimeoutMs = 5000;  // of whoever connects, until it has proved who it is
inline constexpr std::uint32_t kFirstWordTimeoutMs =
    10'000;                                               // of who is connected to, until it says that it is a server
inline constexpr unsigned kBulkChannelsMax = 8;           // of a session
inline constexpr unsigned kStripesMax = 8;                // connections of one stream
inline constexpr std::uint32_t kStripesTimeoutMs = 5000;  // from the first one's Welcome until all are there

enum class Role : std::uint32_t { kControl = 0, kBulk = 1, kPeerControl = 2, kPeerBulk = 3, kMonitor = 4, kStripe = 5 };

// Features of a connection: what both sides name is used.
inline constexpr std::uint64_t kFeatureSharedMemory = 1;  // bulk data through memory, where both are on one host
inline constexpr std::uint64_t kFeatureToken = 2;         // both prove that they know the server's token
inline constexpr std::uint64_t kFeatureResumable = 4;     // what it carries may go on over another connection
inline constexpr std::uint64_t kFeatureResume = 8;        // goes on with what another connection carried
inline constexpr std::uint64_t kFeatureExclusive = 16;    // nobody else has the devices while the session lasts

// Also in the features: over how many connections a stream of bulk data goes (from 2 to kStripesMax; 0: one); for a
// kStripe connection, which one of them it is (from 1).
inline constexpr std::uint64_t kStripesMask = 0xf00;
constexpr unsigned stripes_of(std::uint64_t features) { return static_cast<unsigned>((features & kStripesMask) >> 8); }
constexpr std::uint64_t features_of_stripes(unsigned number) { return std::uint64_t{number} << 8 & kStripesMask; }

// Also in the features, of a client's bulk connection: which channel it carries; where that is the first one, how many
// the session is to have (from 2 to kBulkChannelsMax; 0: one).
inline constexpr std::uint64_t kChannelMask = 0xf000;
inline constexpr std::uint64_t kChannelCountMask = 0xf'0000;
constexpr unsigned channel_of(std::uint64_t features) { return static_cast<unsigned>((features & kChannelMask) >> 12); }
constexpr std::uint64_t features_of_channel(unsigned number) { return std::uint64_t{number} << 12 & kChannelMask; }
constexpr unsigned channel_count_of(std::uint64_t features) {
  return static_cast<unsigned>((features & kChannelCountMask) >> 16);
}
constexpr std::uint64_t features_of_channel_count(unsigned count) {
  return count < 2 ? 0 : std::uint64_t{count} << 16 & kChannelCountMask;
}

// First bytes on every connection, client to server. Its layout is the same in every protocol version.
struct Hello {
  std::array<std::uint8_t, 8> magic;
  std::uint32_t version;
  Role role;
  std::uint64_t features;
  std::uint64_t session;  // 0 on a control connection; on a bulk connection what the control connection was given;
                          // on a peer's what ConnectPeer says
  Secret
      secret;  // control, or with kFeatureResume: a nonce; else proves that the session's, or link's, secret is known
  REMOTECL_FIELDS(magic, version, role, features, session, secret)
};
inline constexpr std::size_t kHelloSize = 48;

enum class WelcomeStatus : std::uint32_t {
  kAccepted = 0,
  kVersionMismatch = 1,
  kBusy = 2,
  kUnknownSession = 3,
  kTokenNeeded = 4,
  kProve = 5,  // the proof of who connects comes next, and then another Welcome
  kWrongToken = 6,
  kCertificateNeeded = 7,
  kTlsNeeded = 8,  // to a handshake in plain text
  kNoTls = 9,      // to a ClientHello, in plain text
};

// The answer, also the same in every version; `text_size` bytes of UTF-8 follow (0 when accepted).
struct Welcome {
  std::array<std::uint8_t, 8> magic;
  std::uint32_t version;
  WelcomeStatus status;
  std::uint64_t features;
  std::uint64_t session;
  Secret secret;        // control: the session's, or with a token a proof, or to be proved a nonce; else a proof
  std::uint64_t epoch;  // differs between two runs of a daemon
  std::uint32_t text_size;
  std::uint32_t reserved;
  REMOTECL_FIELDS(magic, version, status, features, session, secret, epoch, text_size, reserved)
};
inline constexpr std::size_t kWelcomeSize = 64;

// What answers kProve: HMAC-SHA256.
using Proof = std::array<std::uint8_t, 32>;
// Where a stream goes on: how many of its bytes have been received. Follows the proof, and the Welcome that accepts it.
struct ResumeAt {
  std::uint64_t received;
  REMOTECL_FIELDS(received)
};
inline constexpr std::size_t kResumeAtSize = 8;

// How many connections carry a stream, the first one included, which this is said on when they have been made.
struct StripesJoined {
  std::uint64_t count;
  REMOTECL_FIELDS(count)
};
inline constexpr std::size_t kStripesJoinedSize = 8;

inline constexpr std::array<std::uint8_t, 8> kMagic = {'r', 'e', 'm', 'o', 't', 'e', 'c', 'l'};

// Before every control message.
struct MessageHeader {
  std::uint32_t size;  // of what follows this header
  std::uint16_t code;
  std::uint16_t flags;
  REMOTECL_FIELDS(size, code, flags)
};
inline constexpr std::size_t kMessageHeaderSize = 8;
inline constexpr std::uint16_t kTracedMessage = 1;  // a command whose times the client wants

// Before every chunk on a bulk connection. Chunks of one transfer come in order; those of several may alternate.
struct BulkHeader {
  std::uint64_t transfer;
  std::uint32_t size;   // of this chunk, up to kBulkChunkMax; 0: the transfer has failed and ends here
  std::int32_t status;  // of such an end, negative; else 0, or kPushedChunk
  REMOTECL_FIELDS(transfer, size, status)
};
inline constexpr std::size_t kBulkHeaderSize = 16;
inline constexpr std::int32_t kPushedChunk = 1;  // all bytes of a write, which were not pulled

// A fixed-size frame to and from bytes.
template <class Frame, std::size_t N>
std::array<std::byte, N> encode_frame(const Frame& frame) {
  std::array<std::byte, N> bytes;
  std::byte* at = bytes.data();
  wire::encode(at, frame);
  return bytes;
}
template <class Frame>
Frame decode_frame(Bytes bytes) {
  Frame frame{};
  Decoder decoder(bytes);
  decoder.read(frame);
  return frame;
}

// Appends header and message to `out`.
template <class Message>
void append_message(ByteBuffer& out, const Message& message, std::uint16_t flags = 0) {
  const std::size_t size = wire::encoded_size(message);
  std::byte* at = out.extend(kMessageHeaderSize + size);
  wire::encode(at, MessageHeader{static_cast<std::uint32_t>(size), Message::kCode, flags});
  wire::encode(at, message);
}

}  // namespace remotecl
