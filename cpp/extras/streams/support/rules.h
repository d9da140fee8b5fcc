#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

namespace remotecl::plugins {

// What the operator allows: KIND:REST, one for each --plugin-allow. A value.
class Rules {
 public:
  explicit Rules(std::vector<std::string> rules) : rules_(std::move(rules)) {}

  // What follows the kind, for each rule of it.
  std::vector<std::string> of(std::string_view kind) const;
  // Throws PluginError unless a rule of that kind says exactly this.
  void require(std::string_view kind, const std::string& what) const;
  // Throws PluginError unless a rule connect:NETWORK[/BITS][:PORT[-PORT]] names the address.
  void require_connection(const sockaddr& address) const;
  // Throws PluginError unless a rule url:PREFIX/ or url:ADDRESS names the address, in which no "." or ".." leads out of
  // the prefix.
  void require_address(const std::string& address) const;
  // Throws PluginError unless a rule listen:PORT[-PORT] names the port.
  void require_listening(std::uint16_t port) const;

 private:
  std::vector<std::string> rules_;
};

}  // namespace remotecl::plugins
