#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/protocol/frames.h"
#include "server/admission/handshake.h"
#include "server/admission/incoming_connection.h"
#include "server/admission/limits.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// What a daemon that isolates sessions and the process of one say to each other. Both are the same program.
enum class ChannelWord : std::uint32_t {
  kReady = 1,  // the process is contained, and has opened its driver
  kBegin,      // a session, with its control connection and the counters of its user and its own
  kFurther,    // another connection of it
  kAsk,        // for a report
  kReport,
  kEnded,  // in order; with the last report
  kDial,   // the daemon is to connect to somebody: the process cannot
  kOpen,   // the daemon is to open memory that somebody offers to share
  kDone,   // the daemon's answer to these two, with a descriptor unless it has failed
  kKick,   // ends the session
};

// A connection that is handed over, in words.
struct GuestWords {
  Hello hello;
  std::uint64_t deadline_ns;  // of the clock that both have
  std::string_view host;
  std::uint16_t port;
  REMOTECL_FIELDS(hello, deadline_ns, host, port)

  static GuestWords of(const IncomingConnection& arrival);
  Deadline deadline() const { return Deadline(std::chrono::nanoseconds(deadline_ns)); }
  Address from() const { return {std::string(host), port}; }
};

inline constexpr std::uint64_t kNoLimit = UINT64_MAX;

// Those limits that a session's process keeps.
struct LimitWords {
  std::uint64_t device_memory, host_memory, queued_commands, bandwidth, command_seconds, weight;
  REMOTECL_FIELDS(device_memory, host_memory, queued_commands, bandwidth, command_seconds, weight)

  static LimitWords of(const Limits& limits);
  Limits limits() const;
};

struct BeginWords {
  GuestWords guest;
  std::uint64_t epoch, session, features;
  Secret secret, shown;  // as in Admission
  std::string_view user;
  LimitWords of_user, of_session;
  Array<std::uint32_t> devices;  // that the session sees
  REMOTECL_FIELDS(guest, epoch, session, features, secret, shown, user, of_user, of_session, devices)
};

// What could not be done of contain(): lines, or empty.
struct ReadyWords {
  std::string_view failures;
  REMOTECL_FIELDS(failures)
};

struct DialWords {
  std::uint64_t number;  // the answer has it, too
  std::string_view host;
  std::uint16_t port;
  std::uint32_t timeout_ms;
  REMOTECL_FIELDS(number, host, port, timeout_ms)
};

struct OpenWords {
  std::uint64_t number;
  std::uint32_t process, descriptor;
  std::uint64_t cookie;
  REMOTECL_FIELDS(number, process, descriptor, cookie)
};

struct DoneWords {
  std::uint64_t number;
  std::string_view failure;  // for people
  REMOTECL_FIELDS(number, failure)
};

struct AskWords {
  std::uint64_t number;      // the answer has it, too
  std::uint32_t patience_s;  // whoever asks will have asked again by then
  REMOTECL_FIELDS(number, patience_s)
};

struct ReportWords {
  std::uint64_t number;
  Bytes report;  // of StatusReport
  REMOTECL_FIELDS(number, report)
};

struct KickWords {
  std::uint64_t session;
  std::string_view text;  // for the client
  REMOTECL_FIELDS(session, text)
};

// One end of what connects the two: packets that come whole and in order, and may carry descriptors. One thread may
// receive while others send; shutdown() may be called by any thread.
class SessionChannel {
 public:
  struct Packet {
    ChannelWord word;
    std::vector<std::byte> payload;
    std::vector<Descriptor> descriptors;

    // False when they are not of this kind.
    template <class Words>
    bool read(Words& words) const {
      Decoder decoder(payload);
      return decoder.read(words) && decoder.at_end();
    }
  };

  explicit SessionChannel(Descriptor end) : end_(std::move(end)) {}
  // Both ends. Throws std::system_error.
  static std::pair<SessionChannel, SessionChannel> make();

  // False when the other side is gone, or takes nothing in.
  template <class Words>
  bool send(ChannelWord word, const Words& words, std::initializer_list<int> descriptors = {}) {
    std::vector<std::byte> bytes(sizeof word + wire::encoded_size(words));
    std::byte* at = bytes.data();
    wire::put_field(at, word);
    wire::encode(at, words);
    return send(bytes, descriptors);
  }
  // Blocks; empty when the other side has gone, or has said what nobody says.
  std::optional<Packet> receive();
  // Whether there is something to receive, or its end, in time.
  bool await(Deadline deadline) const;
  // False when `other` becomes readable instead.
  bool await(int other) const;
  // The other side receives no more than what was sent; what it sends still comes.
  void end_sending();

  int descriptor() const { return end_.get(); }

 private:
  static constexpr std::size_t kDescriptorsMax = 3;
  static constexpr std::size_t kPacketMax = 128u << 10;

  bool send(Bytes bytes, std::initializer_list<int> descriptors);

  Descriptor end_;
};

}  // namespace remotecl::server
