#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/handshake/access_token.h"

namespace remotecl::server {

// What is wrong with the limits that were given; what() names the place, the cause and the remedy.
class LimitsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What somebody may have; what is not said has no limit, but for the host's memory. A value.
struct Limits {
  std::optional<std::uint64_t> device_memory;    // bytes on each device
  std::optional<std::uint64_t> host_memory;      // bytes of this machine for what messages leave behind
  std::optional<std::uint64_t> sessions;         // at a time
  std::optional<std::uint64_t> queued_commands;  // of a session, on each device
  std::optional<std::uint64_t> bandwidth;        // bytes per second, both directions together
  std::optional<std::uint64_t> command_seconds;  // that a command may run
  std::optional<std::vector<std::uint32_t>> devices;
  std::optional<double> weight;
  std::optional<bool> exclusive;    // has devices alone; false: not even when it asks for that
  std::optional<bool> is_operator;  // may end everybody's sessions

  // These, and what they do not say from `others`.
  Limits or_else(const Limits& others) const;
};

// Who is known by a token of their own.
struct NamedUser {
  std::string name;
  AccessToken token;
  Limits limits;
};

// All that was said about limits.
struct LimitsTable {
  Limits session;   // of each session
  Limits standard;  // of whoever has no section, and of those who have for what that does not say
  std::vector<NamedUser> users;
};

// Reads a TOML file (none where `file` is empty), and on top of it `settings`, each "SECTION.KEY=VALUE". Reads the
// users' token files. Throws LimitsError, ConnectionError for a token file.
LimitsTable read_limits(const std::string& file, const std::vector<std::string>& settings);

}  // namespace remotecl::server
