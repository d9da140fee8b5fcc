#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/crypto/secret.h"
#include "runtime/transport/address.h"
#include "server/admission/users.h"

namespace remotecl::server {

// A session's client: who it is, how it proves that when it reconnects, and what it may use. Owned by the session; any
// thread.
class Client {
 public:
  // A client's claims about itself.
  struct Claims {
    std::uint64_t process = 0;
    std::string host, program;
  };

  Client(const Address& address, const Secret& secret, std::unique_ptr<Grant> grant)
      : address_(address), secret_(secret), grant_(std::move(grant)) {}

  const Address& address() const { return address_; }
  const Secret& secret() const { return secret_; }
  Grant& grant() const { return *grant_; }
  Claims claims() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return claims_;
  }
  void set_claims(Claims claims) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    claims_ = std::move(claims);
  }

 private:
  const Address address_;
  const Secret secret_;
  const std::unique_ptr<Grant> grant_;
  mutable Mutex mutex_;
  Claims claims_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
