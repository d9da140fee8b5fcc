#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace remotecl {

struct RdmaCost;
struct RdmaStatus;

// Whether network cards move the bytes of a bulk stream, and what they have moved. A value.
struct RdmaState {
  // In the order of what is worth knowing of several streams.
  enum class Kind : std::uint32_t {
    kOff,          // not asked for
    kUnavailable,  // `reason` says why
    kConnecting,   // both sides want it, and there has been no channel yet
    kInUse,
    kLost,  // `reason` says why; the stream carries the bytes
  };

  Kind kind = Kind::kOff;
  std::string reason;                 // with a channel: why the one before it was lost
  std::string port;                   // this side's, like "mlx5_0:1", of the last channel
  std::string address, peer_address;  // of the last channel
  std::uint64_t channels = 0;         // there now
  std::uint64_t losses = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;  // by RDMA
  // The cost of that for this process: bytes that a processor copied, because the device could not use their memory,
  // and system calls. A request to a device counts as one, which only Soft-RoCE needs.
  std::uint64_t bytes_copied = 0, system_calls = 0;

  static RdmaState off(std::string_view reason) { return {Kind::kOff, std::string(reason), {}, {}, {}}; }
  static RdmaState unavailable(std::string_view reason);
  bool is_wanted() const { return kind == Kind::kConnecting; }
  // Of several streams: the sum of the numbers, and the state that is most worth knowing.
  RdmaState& operator+=(const RdmaState& other);
  // The part that remains true once the stream has ended.
  RdmaState past() const;
};

// "off", "unavailable", "connecting", "in use" or "lost".
std::string_view name_of(RdmaState::Kind kind);
// The form that messages carry; refers to the argument.
RdmaStatus status_of(const RdmaState& state);
RdmaCost cost_of(const RdmaState& state);
// A number that means nothing becomes kOff.
RdmaState state_of(const RdmaStatus& status);

// Why there is no RDMA, for people. Other reasons are the errors of the libraries and of the device.
namespace rdma_reason {

inline constexpr std::string_view kNotBuilt = "this build of remotecl is without RDMA";
inline constexpr std::string_view kNoDevice = "this machine has no RDMA device";
inline constexpr std::string_view kEncrypted = "the connection is encrypted (TLS)";
inline constexpr std::string_view kRateLimit = "the user's rate is limited (--limits)";
inline constexpr std::string_view kIsolated =
    "the session has a process of its own (--isolate), which uses RDMA only if the server is started with --rdma auto";
inline constexpr std::string_view kSharedMemory = "both processes are on one machine, and share memory";
inline constexpr std::string_view kPeerDoesNotAsk = "the other side does not ask for it";
inline constexpr std::string_view kNotOffered =
    "the other side offers none: its machine has no device with an active port at that address (remotecl doctor there "
    "names what is missing), RDMA is off there (--rdma off, REMOTECL_RDMA=off), it was started with --isolate and "
    "without --rdma auto, or it limits the rate (--limits)";
inline constexpr std::string_view kHostMemory =
    "the session would hold more memory for it than the limit host-memory allows (--limits)";
inline constexpr std::string_view kReplaced = "the other side has lost it";
// Precedes what is missing, where an error says that a machine has no RDMA.
inline constexpr std::string_view kMissing = "RDMA is not available, TCP is used: ";

}  // namespace rdma_reason

}  // namespace remotecl
