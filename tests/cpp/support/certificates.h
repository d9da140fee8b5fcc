#pragma once

#include <memory>
#include <string>

#include "runtime/crypto/key_pin.h"

namespace remotecl::testing {

// A folder that goes with this object. Files in it are nobody else's to read.
class PrivateFolder {
 public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const;  // its path

 private:
  std::string path_;
};

// Files of a certificate and of its key.
struct CertificateFiles {
  std::string certificate, key;
  KeyPin pin;
};

// One that has signed itself, as `remotecl keygen` makes it.
CertificateFiles own_certificate(const PrivateFolder& folder, const std::string& name);

// Signs certificates.
class Authority {
 public:
  explicit Authority(const PrivateFolder& folder);
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  std::string file() const { return file_; }  // its own certificate
  // `subject`: as in "DNS:gpu1" or "IP:127.0.0.1". Valid for so long from now; negative: it has ended.
  CertificateFiles sign(const std::string& name, const std::string& subject, long seconds = 3600) const;

 private:
  struct State;
  const PrivateFolder& folder_;
  std::unique_ptr<State> state_;
  std::string file_;
};

}  // namespace remotecl::testing
