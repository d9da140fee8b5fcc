#pragma once

#include <string>
#include <vector>

namespace remotecl::server {

// The options for TLS.
struct TlsOptions {
  std::vector<std::string> files;  // the files of the certificate and of its key, or empty
  bool has_new_key = false;        // makes a key and certificate for this run
  std::string client_ca;           // file of the authorities of clients' certificates; empty: none
  std::vector<std::string> made;   // files to write a new certificate and its key to

  bool is_on() const { return !files.empty() || has_new_key; }
};

}  // namespace remotecl::server
