#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/address.h"
#include "runtime/transport/tls/tls_trust.h"

namespace remotecl {

// A server as users name it: its address, and how server and client authenticate each other. A value.
struct ServerName {
  Address address;
  std::string token_file = {};  // empty: no token
  TlsTrust trust = {};
  bool is_exclusive = false;  // the client wants its devices to itself
  unsigned streams = 0;       // the most connections for its bulk data; 0: bulk_streams()

  std::string text() const;  // can be parsed again
};

// "host[:port][?OPTION=VALUE[&...]]". In the name of a file, commas, %, & and other special characters are
// written as %XX. Options: token=FILE; pin=sha256:HEX and ca=FILE, which both ask for TLS; with either,
// certificate=FILE and key=FILE for the client's own (without key, both are in one file); exclusive=yes;
// streams=N. Throws std::invalid_argument that quotes the text.
ServerName parse_server_name(std::string_view text, std::uint16_t default_port);
// Comma separated; empty entries are skipped.
std::vector<ServerName> parse_server_names(std::string_view text, std::uint16_t default_port);

}  // namespace remotecl
