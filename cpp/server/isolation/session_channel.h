#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/crypto/digest.h"
#include "runtime/protocol/frames.h"
#include "server/admission/handshake.h"
#include "server/admission/incoming_connection.h"
#include "server/admission/limits.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// The messages between a daemon that isolates sessions and the process of a session. Both run the same
// program.
enum class PacketType : std::uint32_t {
  kUnreadable = 0,  // not sent: what has come was too short or too long
  kReady = 1,       // the process is contained and has opened its driver
  kBegin,           // a session, with its control connection and its pages of allowances and claims
  kFurther,         // another connection of the session
  kAsk,             // the daemon wants a report
  kReport,
  kEnded,        // the session has ended in order; carries the last report
  kDial,         // asks the daemon for a connection of a link to another server: a DialMessage (link_messages.h)
  kOpen,         // asks the daemon to open memory that a peer offers to share
  kDone,         // the daemon's answer to a request; with a descriptor if it succeeded and has something to give
  kKick,         // end the session
  kFind,         // asks the daemon for an entry of its store
  kKeep,         // asks the daemon to store the content of a descriptor
  kOpenUpload,   // asks the daemon for the file of a chunk of an upload: a StoreMessage
  kKeepUpload,   // as kKeep, for such a chunk
  kWatchLoads,   // asks the other side to start or stop sending loads: a WatchLoads
  kOpenSocket,   // asks the daemon for a socket of a kernel: a SocketMessage
  kDoubtUpload,  // reports such a chunk as damaged: a StoreMessage that is not answered
  kDialed,       // the answer to kDial: a DialedMessage, with the connection
  kLoads,        // to the daemon, the session's load of the devices; from it, that of others: a DeviceLoads
  kOwner,        // what the client says of the session's owner: an OwnerMessage that is not answered
  kClaim,        // asks the daemon for more of the user's limits: a ClaimMessage, answered in the allowances
};

// Describes a connection that is handed over.
struct ConnectionFields {
  Hello hello;
  std::uint64_t deadline_ns;  // of the steady clock, which both processes share
  std::string_view host;
  std::uint16_t port;
  TransportKind kind;
  REMOTECL_FIELDS(hello, deadline_ns, host, port, kind)

  static ConnectionFields of(const IncomingConnection& incoming);
  Deadline deadline() const { return Deadline(std::chrono::nanoseconds(deadline_ns)); }
  Address from() const { return {std::string(host), port}; }
};

inline constexpr std::uint64_t kNoLimit = UINT64_MAX;

// The limits that a session's process enforces.
struct LimitFields {
  std::uint64_t device_memory, host_memory, queued_commands, bandwidth, command_seconds, kernel_sockets,
      kernel_bandwidth, kernel_threads, weight;
  REMOTECL_FIELDS(device_memory, host_memory, queued_commands, bandwidth, command_seconds, kernel_sockets,
                  kernel_bandwidth, kernel_threads, weight)

  static LimitFields of(const Limits& limits);
  Limits limits() const;
};

struct BeginMessage {
  ConnectionFields connection;
  std::uint64_t epoch, session, features;
  Secret secret, shown;  // as in Admission
  std::string_view user;
  LimitFields of_user, of_session;
  Array<std::uint32_t> devices;  // those that the session sees
  REMOTECL_FIELDS(connection, epoch, session, features, secret, shown, user, of_user, of_session, devices)
};

// The restrictions that contain() could not make, one line each; usually empty.
struct ReadyMessage {
  std::string_view failures;
  REMOTECL_FIELDS(failures)
};

struct OpenMessage {
  std::uint64_t number;  // repeated in the answer
  std::uint32_t process, descriptor;
  std::uint64_t cookie;
  REMOTECL_FIELDS(number, process, descriptor, cookie)
};

// Of kFind, kKeep, kOpenUpload, kKeepUpload and kDoubtUpload.
struct StoreMessage {
  std::uint64_t number;
  Digest key;
  REMOTECL_FIELDS(number, key)
};

struct OwnerMessage {
  Digest owner;
  REMOTECL_FIELDS(owner)
};

struct SocketMessage {
  std::uint64_t number;
  std::string_view address;  // as a kernel writes it
  std::int32_t backlog;      // of a socket to bind; -1: connect
  REMOTECL_FIELDS(number, address, backlog)
};

struct DoneMessage {
  std::uint64_t number;
  std::string_view failure;    // text for people
  std::int32_t error = 0;      // of kOpenSocket: a negative errno if there is no descriptor
  std::uint64_t checksum = 0;  // of kOpenUpload
  REMOTECL_FIELDS(number, failure, error, checksum)
};

struct AskMessage {
  std::uint64_t number;      // repeated in the answer
  std::uint32_t patience_s;  // the asker is expected to ask again within this time
  REMOTECL_FIELDS(number, patience_s)
};

struct ReportMessage {
  std::uint64_t number;
  Bytes report;          // an encoded StatusReport
  std::string_view why;  // the session was ended; empty if it goes on or its client has ended it
  REMOTECL_FIELDS(number, report, why)
};

// See ShareClaim.
struct ClaimMessage {
  std::uint64_t number;
  std::uint32_t counter;
  std::uint32_t spares_some;
  REMOTECL_FIELDS(number, counter, spares_some)
};

struct KickMessage {
  std::uint64_t session;
  std::string_view text;  // for the client
  REMOTECL_FIELDS(session, text)
};

// One end of the connection between daemon and process. Packets arrive whole and in order, and may carry
// descriptors. One thread may receive while others send; shutdown() may be called by any thread.
class SessionChannel {
 public:
  struct Packet {
    PacketType type;
    std::vector<std::byte> payload;
    std::vector<Descriptor> descriptors;
    bool lacks_descriptors;  // this process had no room for them

    // Returns false if the payload is not of this kind.
    template <class Message>
    bool read(Message& message) const {
      Decoder decoder(payload);
      return decoder.read(message) && decoder.at_end();
    }
  };

  explicit SessionChannel(Descriptor end) : end_(std::move(end)) {}
  // Creates both ends. Throws std::system_error.
  static std::pair<SessionChannel, SessionChannel> make();

  // Returns false if the other side is gone or does not take the packet now.
  template <class Message>
  bool send(PacketType type, const Message& message, std::initializer_list<int> descriptors = {}) {
    return try_to_send(encoded(type, message), descriptors) == 0;
  }
  // Waits until the other side takes the packet. Returns false if it never will, because it is gone (`end`, unless -1,
  // then becomes readable), or because the system does not pass the descriptors on.
  template <class Message>
  bool deliver(PacketType type, const Message& message, std::initializer_list<int> descriptors = {}, int end = -1) {
    return deliver(encoded(type, message), descriptors, end);
  }
  // Blocks. Returns nothing once the other side is gone.
  std::optional<Packet> receive();
  // Whether a packet or the end arrives before the deadline.
  bool await(Deadline deadline) const;
  // Sends no more, so the other side receives an end after what was sent; what it sends still arrives.
  void end_sending();

  int descriptor() const { return end_.get(); }

 private:
  static constexpr std::size_t kDescriptorsMax = 3;
  static constexpr std::size_t kPacketMax = 128u << 10;

  template <class Message>
  static std::vector<std::byte> encoded(PacketType type, const Message& message) {
    std::vector<std::byte> bytes(sizeof type + wire::encoded_size(message));
    std::byte* at = bytes.data();
    wire::put_field(at, type);
    wire::encode(at, message);
    return bytes;
  }
  // Returns an errno, or 0.
  int try_to_send(Bytes bytes, std::initializer_list<int> descriptors);
  bool deliver(Bytes bytes, std::initializer_list<int> descriptors, int end);

  Descriptor end_;
  std::vector<std::byte> received_ =
      std::vector<std::byte>(kPacketMax);  // so that a packet needs no memory to be taken
};

}  // namespace remotecl::server
