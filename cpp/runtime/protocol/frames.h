#pragma once

#include <array>
#include <cstdint>

#include "runtime/crypto/secret.h"
#include "runtime/protocol/codec.h"
#include "runtime/protocol/sizes.h"

// The frames of every connection: the handshake, the header of control messages, and the header of bulk
// chunks.
namespace remotecl {

inline constexpr std::uint16_t kDefaultPort = 10990;
inline constexpr std::uint32_t kProtocolVersion = 22;

inline constexpr std::uint32_t kHandshakeTimeoutMs = 5000;    // for the connecting side to prove its identity
inline constexpr std::uint32_t kFirstWordTimeoutMs = 10'000;  // for the accepting side to show that it is a server
inline constexpr std::uint32_t kStripesTimeoutMs = 5000;      // from the first one's Welcome until all have joined

enum class Role : std::uint32_t { kControl = 0, kBulk = 1, kPeerControl = 2, kPeerBulk = 3, kMonitor = 4, kStripe = 5 };

// Features of a connection. One is used if both sides name it.
inline constexpr std::uint64_t kFeatureSharedMemory = 1;  // bulk data through shared memory, on one host
inline constexpr std::uint64_t kFeatureToken = 2;         // both sides prove that they know the server's token
inline constexpr std::uint64_t kFeatureResumable = 4;     // its stream can be resumed over another connection
inline constexpr std::uint64_t kFeatureResume = 8;        // resumes the stream of another connection
inline constexpr std::uint64_t kFeatureExclusive = 16;    // no other client has the devices during the session
inline constexpr std::uint64_t kFeatureRdma = 32;         // bulk data by RDMA, beside the connection
inline constexpr std::uint64_t kFeatureCompression = 64;  // chunks may be compressed

// The features also hold the number of connections that a bulk stream is striped over (2 to kStripesMax; 0
// means one), or, on a kStripe connection, the index of this one (from 1).
inline constexpr std::uint64_t kStripesMask = 0xf00;
constexpr unsigned stripes_of(std::uint64_t features) { return static_cast<unsigned>((features & kStripesMask) >> 8); }
constexpr std::uint64_t features_of_stripes(unsigned number) { return std::uint64_t{number} << 8 & kStripesMask; }

// On a client's bulk connection, the features also hold the channel's number and, for the first channel, how
// many channels the session wants (2 to kBulkChannelsMax; 0 means one).
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

// The first bytes on every connection, from client to server. The layout is the same in every protocol
// version.
struct Hello {
  std::array<std::uint8_t, 8> magic;
  std::uint32_t version;
  Role role;
  std::uint64_t features;
  // 0 on a control connection; on a bulk connection, the id that the control connection was given; on a
  // peer's connection, the id that ConnectPeer names.
  std::uint64_t session;
  Secret
      // A nonce on a control connection and with kFeatureResume; otherwise the proof of knowing the secret of
      // the session or link.
      secret;
  REMOTECL_FIELDS(magic, version, role, features, session, secret)
};
inline constexpr std::size_t kHelloSize = 48;

enum class WelcomeStatus : std::uint32_t {
  kAccepted = 0,
  kVersionMismatch = 1,
  kBusy = 2,
  kUnknownSession = 3,
  kTokenNeeded = 4,
  kProve = 5,  // the client sends its proof next, and gets another Welcome
  kWrongToken = 6,
  kCertificateNeeded = 7,
  kTlsNeeded = 8,  // the answer to a handshake in plain text
  kNoTls = 9,      // the answer to a TLS ClientHello, in plain text
};

// The answer to a Hello. Its layout, too, is the same in every version. `text_size` bytes of UTF-8 follow (0
// if accepted).
struct Welcome {
  std::array<std::uint8_t, 8> magic;
  std::uint32_t version;
  WelcomeStatus status;
  std::uint64_t features;
  std::uint64_t session;
  // On a control connection the session's secret or, with a token, a nonce (kProve) and then a proof;
  // otherwise a proof.
  Secret secret;
  std::uint64_t epoch;  // differs between two runs of a daemon
  std::uint32_t text_size;
  std::uint32_t reserved;
  REMOTECL_FIELDS(magic, version, status, features, session, secret, epoch, text_size, reserved)
};
inline constexpr std::size_t kWelcomeSize = 64;

// The answer to kProve: HMAC-SHA256.
using Proof = std::array<std::uint8_t, 32>;
// How many bytes of a stream have been received, so that the other side knows where to resume. Follows the
// proof, and the Welcome that accepts it.
struct ResumeAt {
  std::uint64_t received;
  REMOTECL_FIELDS(received)
};
inline constexpr std::size_t kResumeAtSize = 8;

// Where the accepting side of a bulk connection can be reached by RDMA. Follows the Welcome that accepts
// kFeatureRdma.
struct RdmaOffer {
  static constexpr std::size_t kAddressesMax = 8;
  static constexpr std::size_t kAddressSize = 18;

  std::uint64_t ticket;                                              // names the stream in the requests
  std::uint32_t count;                                               // of addresses
  std::array<std::uint8_t, kAddressesMax * kAddressSize> addresses;  // IPv6 (or mapped IPv4) and port, big-endian
  REMOTECL_FIELDS(ticket, count, addresses)
};
inline constexpr std::size_t kRdmaOfferSize = 156;

// How many connections carry a stream, including the first one. Sent on the first one when the others are
// connected.
struct StripesJoined {
  std::uint64_t count;
  REMOTECL_FIELDS(count)
};
inline constexpr std::size_t kStripesJoinedSize = 8;

inline constexpr std::array<std::uint8_t, 8> kMagic = {'r', 'e', 'm', 'o', 't', 'e', 'c', 'l'};

// Precedes every control message.
struct MessageHeader {
  std::uint32_t size;  // of what follows this header
  std::uint16_t code;
  std::uint16_t flags;
  REMOTECL_FIELDS(size, code, flags)
};
inline constexpr std::size_t kMessageHeaderSize = 8;
inline constexpr std::uint16_t kTracedMessage = 1;  // a command whose times the client wants
inline constexpr std::uint16_t kPlacedMessage = 2;  // a kernel whose device the client's scheduler has chosen

// Precedes every chunk on a bulk connection. The chunks of a transfer arrive in order; those of several
// transfers may alternate.
struct BulkHeader {
  std::uint64_t transfer;
  std::uint32_t
      size;  // of this chunk, up to kBulkChunkMax; 0 for a kStoredChunk, or if the transfer failed and ends here
  std::int32_t status;  // the negative error of a failed transfer; else 0 or chunk_status()
  REMOTECL_FIELDS(transfer, size, status)
};
inline constexpr std::size_t kBulkHeaderSize = 16;
inline constexpr std::int32_t kPushedChunk = 1;   // all bytes of a write that was not pulled
inline constexpr std::int32_t kRdmaChunk = 2;     // its bytes come by RDMA, over the channel with this number
inline constexpr std::int32_t kResentChunk = 3;   // the bytes of the kRdmaChunk with this number again
inline constexpr std::int32_t kStoredChunk = 4;   // without bytes: the server has those of the next offered chunk
inline constexpr std::int32_t kPackedChunk = 64;  // added to 0 or kPushedChunk: compressed, after a PackedSize
inline constexpr std::uint32_t kChunkNumberMask = 0x7f'ffff;
constexpr std::int32_t chunk_status(std::int32_t kind, std::uint32_t number) {
  return kind | static_cast<std::int32_t>((number & kChunkNumberMask) << 8);
}
constexpr std::int32_t chunk_kind(std::int32_t status) { return status < 0 ? 0 : status & 0xff; }
constexpr std::uint32_t chunk_number(std::int32_t status) { return static_cast<std::uint32_t>(status) >> 8; }

// The bytes of a kPackedChunk: this, one zstd frame of that size, and a zero.
struct PackedSize {
  std::uint32_t size;  // less than that of the chunk, which is that of the bytes before compression
  REMOTECL_FIELDS(size)
};
inline constexpr std::size_t kPackedSizeSize = 4;

// Converts a fixed-size frame to and from bytes.
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
