#pragma once

#include <optional>
#include <string>

#include "runtime/crypto/key_pin.h"

namespace remotecl {

// How a client is sure of a server, and shows who it is itself. With neither pin nor ca_file: not at all. A value.
struct TlsTrust {
  std::optional<KeyPin> pin;     // of the server's key
  std::string ca_file;           // PEM: whoever has signed the server's certificate, which is for the server's name
  std::string certificate_file;  // the client's own; empty: none
  std::string key_file;          // empty: in the same file

  bool is_wanted() const { return pin.has_value() || !ca_file.empty(); }
};

}  // namespace remotecl
