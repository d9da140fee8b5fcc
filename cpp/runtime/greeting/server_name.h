#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/address.h"

namespace remotecl {

// A server as users name it: where it is, and how it and they can be sure of each other. A value.
struct ServerName {
  Address address;
  std::string token_file;  // empty: none
};

// "host[:port][?token=FILE]"; a file's name has %XX in the place of a comma, %, & and what else may not be written.
// Throws std::invalid_argument that quotes the text.
ServerName parse_server_name(std::string_view text, std::uint16_t default_port);
// Comma separated; empty entries are skipped.
std::vector<ServerName> parse_server_names(std::string_view text, std::uint16_t default_port);

}  // namespace remotecl
