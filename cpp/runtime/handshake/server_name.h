#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/address.h"
#include "runtime/transport/tls/tls_trust.h"

namespace remotecl {

// A server as users name it: where it is, and how it and they can be sure of each other. A value.
struct ServerName {
  Address address;
  std::string token_file = {};  // empty: none
  TlsTrust trust = {};
  bool is_exclusive = false;  // nobody else is to have its devices meanwhile
  unsigned streams = 0;       // connections for its bulk data, at most; 0: as bulk_streams() says

  std::string text() const;  // as it can be parsed
};

// "host[:port][?OPTION=VALUE[&...]]". A file's name has %XX in the place of a comma, %, & and what else may not be
// written. Options: token=FILE; pin=sha256:HEX and ca=FILE, each of which asks for TLS; with one of these
// certificate=FILE and key=FILE, the client's own (without key, both are in one file); exclusive=yes;
// streams=N. Throws std::invalid_argument that quotes the text.
ServerName parse_server_name(std::string_view text, std::uint16_t default_port);
// Comma separated; empty entries are skipped.
std::vector<ServerName> parse_server_names(std::string_view text, std::uint16_t default_port);

}  // namespace remotecl
