#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/transport/address.h"

namespace remotecl::server {

// The identity of a session's client. Owned by the session; any thread.
class Client {
 public:
  // A client's claims about itself.
  struct Claims {
    std::uint64_t process = 0;
    std::string host, program;
  };

  explicit Client(const Address& address) : address_(address) {}

  const Address& address() const { return address_; }
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
  mutable Mutex mutex_;
  Claims claims_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
