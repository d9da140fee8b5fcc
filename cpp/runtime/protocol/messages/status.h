#pragma once

#include "runtime/crypto/digest.h"
#include "runtime/protocol/compression_counts.h"
#include "runtime/protocol/messages/message.h"

// A daemon's report about itself, to the clients of its sessions and to monitors, which have no session.
namespace remotecl {

inline constexpr std::uint32_t kStatusSessionsMax = 1024;  // listed in one Status; others are only counted
inline constexpr std::uint32_t kStatusTextMax = 255;       // bytes of a host's or a program's name

// Describes the client, for people.
struct Introduce {
  REMOTECL_MESSAGE(Introduce);
  std::uint64_t process;
  std::string_view host;
  std::string_view program;
  std::uint32_t window_ms;  // how long it tries to reconnect
  Digest owner;             // what only this person's programs know, for this server; zeros: none
  REMOTECL_FIELDS(process, host, program, window_ms, owner)
};

struct GetStatus {
  REMOTECL_MESSAGE(GetStatus);
  Token token;
  REMOTECL_FIELDS(token)
};

// Ends a session, possibly another client's.
struct KickSession {
  REMOTECL_MESSAGE(KickSession);
  Token token;
  std::uint64_t session;
  REMOTECL_FIELDS(token, session)
};

enum class KickResult : std::uint32_t {
  kEnded,    // it has ended
  kEnding,   // it is over, but the driver still works for it
  kUnknown,  // there is no session with this id
  kRefused,  // the asker may not end it; the text says who may
};

struct SessionKicked {
  REMOTECL_MESSAGE(SessionKicked);
  Token token;
  KickResult result;
  std::string_view text;  // for people
  REMOTECL_FIELDS(token, result, text)
};

// The traffic of the two connections, from the reporting server's view. `bulk_...` numbers count whole
// transfers.
struct Traffic {
  std::uint64_t bytes_sent = 0, messages_sent = 0;
  std::uint64_t bytes_received = 0, messages_received = 0;
  std::uint64_t bulk_bytes_sent = 0, bulk_sent = 0;
  std::uint64_t bulk_bytes_received = 0, bulk_received = 0;
  CompressionCounts compression{};  // of bulk data, whose bytes above are those after it
  REMOTECL_FIELDS(bytes_sent, messages_sent, bytes_received, messages_received, bulk_bytes_sent, bulk_sent,
                  bulk_bytes_received, bulk_received, compression)

  Traffic& operator+=(const Traffic& other) {
    bytes_sent += other.bytes_sent, messages_sent += other.messages_sent;
    bytes_received += other.bytes_received, messages_received += other.messages_received;
    bulk_bytes_sent += other.bulk_bytes_sent, bulk_sent += other.bulk_sent;
    bulk_bytes_received += other.bulk_bytes_received, bulk_received += other.bulk_received;
    compression += other.compression;
    return *this;
  }
};

struct DeviceStatus {
  std::uint32_t index;
  std::string_view name;
  std::uint64_t memory_used;    // bytes of all sessions' buffers and images
  std::uint64_t memory_total;   // in bytes
  std::uint64_t queue_depth;    // commands that were accepted and have not ended
  std::uint32_t busy_permille;  // of the observed time, how much the driver had work
  std::uint32_t observed_ms;    // at most the last second; 0 if nobody has asked for a while
  std::uint64_t placed;         // kernels that clients' automatic devices have placed here, of all sessions
  REMOTECL_FIELDS(index, name, memory_used, memory_total, queue_depth, busy_permille, observed_ms, placed)
};

struct SessionStatus {
  std::uint32_t is_own;   // whether it is the asker's
  std::uint64_t session;  // its id
  std::string_view address, host, program, user;
  std::uint64_t process;
  std::uint64_t age_ms;
  std::uint64_t over_ms;  // how long it has been over while the driver still works for it; 0: it is not over
  std::uint64_t commands;
  Traffic traffic;
  Array<std::uint64_t> memory;  // bytes on each device, in the order of `devices`
  Array<std::uint64_t> placed;  // likewise, kernels that its automatic device has placed there
  REMOTECL_FIELDS(is_own, session, address, host, program, user, process, age_ms, over_ms, commands, traffic, memory,
                  placed)
};

// A link between two servers, of one session.
struct LinkStatus {
  std::uint32_t is_own;  // of the asker's session
  PeerId peer;           // the id that the client gave the other server, if is_own; else 0
  std::string_view address;
  std::uint32_t is_connected;
  Traffic traffic;
  REMOTECL_FIELDS(is_own, peer, address, is_connected, traffic)
};

struct Status {
  REMOTECL_MESSAGE(Status);
  Token token;
  std::string_view version;  // of the daemon's release
  std::string_view host;     // its name
  std::uint64_t process;
  std::uint64_t uptime_ms;
  std::uint64_t session_count;  // of all sessions, including those that are not listed
  std::uint64_t commands;       // of all sessions, including ended ones
  Traffic clients;              // likewise
  Traffic peers;                // likewise
  Sequence<DeviceStatus> devices;
  Sequence<SessionStatus> sessions;  // those that the asker may see
  Sequence<LinkStatus> links;        // likewise
  REMOTECL_FIELDS(token, version, host, process, uptime_ms, session_count, commands, clients, peers, devices, sessions,
                  links)
};

}  // namespace remotecl
