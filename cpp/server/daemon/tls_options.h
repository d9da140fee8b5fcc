#pragma once

#include <string>
#include <vector>

namespace remotecl::server {

// The options for TLS.
struct TlsOptions {
  std::vector<std::string> files;  // the certificate's and its key's; empty: there are none
  bool has_new_key = false;        // a key and certificate of this run
  std::string client_ca;           // the file of those who sign clients' certificates; empty: nobody
  std::vector<std::string> made;   // files to write a new certificate and its key to

  bool is_on() const { return !files.empty() || has_new_key; }
};

}  // namespace remotecl::server
