#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/handshake/access_token.h"
#include "server/admission/socket_rules.h"

namespace remotecl::server {

// The given limits are wrong; what() names the position, the cause and the remedy.
class LimitsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Limits of a session or a user. What is not set is unlimited, except for host memory. A value.
struct Limits {
  std::optional<std::uint64_t> device_memory;     // bytes on each device
  std::optional<std::uint64_t> host_memory;       // bytes of this machine for what messages leave behind
  std::optional<std::uint64_t> sessions;          // at the same time
  std::optional<std::uint64_t> queued_commands;   // of a session, on each device
  std::optional<std::uint64_t> bandwidth;         // bytes per second, both directions together
  std::optional<std::uint64_t> command_seconds;   // the longest that a command may run
  std::optional<std::uint64_t> kernel_sockets;    // of kernels, at the same time
  std::optional<std::uint64_t> kernel_bandwidth;  // bytes per second of these sockets, both directions together
  std::optional<std::uint64_t> kernel_threads;    // the most that move the bytes of one network
  std::optional<SocketRules> kernel_connect;      // where they may be connected to; without any list: nowhere
  std::optional<SocketRules> kernel_bind;         // where they may be bound
  std::optional<std::vector<std::uint32_t>> devices;
  std::optional<double> weight;
  std::optional<bool> exclusive;    // claims devices for itself; false: may not even ask for that
  std::optional<bool> is_operator;  // may end any user's sessions

  // These limits, with what is not set here taken from `others`.
  Limits or_else(const Limits& others) const;
};

// A user with a token of their own.
struct NamedUser {
  std::string name;
  AccessToken token;
  Limits limits;
};

// All configured limits.
struct LimitsTable {
  Limits session;   // of each session
  Limits standard;  // of users without a section, and for what a user's section does not set
  std::vector<NamedUser> users;
};

// Parses "8 GiB" and the like into bytes; returns nothing for other texts.
std::optional<std::uint64_t> parse_size(std::string_view text);

// Reads a TOML file (if `file` is not empty) and applies `settings` on top, each "SECTION.KEY=VALUE". Reads
// the users' token files. Throws LimitsError, or ConnectionError for a token file.
LimitsTable read_limits(const std::string& file, const std::vector<std::string>& settings);

}  // namespace remotecl::server
