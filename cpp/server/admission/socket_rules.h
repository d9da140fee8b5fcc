#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/admission/address_rule.h"

namespace remotecl::server {

// The addresses that the sockets of kernels may be connected to, or bound to: kernel-connect and kernel-bind of the
// limits file. Each rule is HOST:PORTS or unix:/PATH. HOST is a network (ADDRESS[/BITS], IPv6 in brackets) or, to
// connect to, a name; PORTS are PORT[-PORT], or *: all, of which those below 1024 cannot be bound. An immutable value;
// makes no system calls.
class SocketRules {
 public:
  enum class For { kConnect, kBind };
  // Addresses that mean a different machine in each place, or several: unspecified, loopback, link-local, multicast.
  static bool is_special(const IpNumber& address);

  // Throws std::invalid_argument, which quotes the rule and says what is wrong.
  SocketRules(For use, const std::vector<std::string>& rules);

  // `name`: the host's name as the kernel wrote it, or the address as text if the kernel wrote a number. `own`: the
  // addresses of this machine. Special addresses, and for kConnect those of this machine, need a rule for one address,
  // for a network of special addresses only, or for localhost.
  bool allows(const IpNumber& address, std::uint16_t port, std::string_view name,
              const std::vector<IpNumber>& own) const;
  bool allows_path(std::string_view path) const;

  For use() const { return use_; }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  struct Rule {
    std::string name;  // empty: for addresses
    std::string path;  // empty: for the internet
    AddressRule where;
    bool is_any_port = false;
  };

  Rule parse(const std::string& text) const;
  bool has_port(const Rule& rule, std::uint16_t port) const;

  For use_;
  std::vector<std::string> texts_;
  std::vector<Rule> rules_;
};

}  // namespace remotecl::server
