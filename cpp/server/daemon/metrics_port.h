#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/transport/address.h"

namespace remotecl::server {

// Answers GET /metrics on a port of its own, over HTTP/1.0, on a thread of its own. A few clients at a time, each for a
// few seconds: for who else comes the oldest one gives way. Owned by main() or a test.
class MetricsPort {
 public:
  // `text` is called on the port's thread. Throws ConnectionError.
  MetricsPort(const Address& address, std::function<std::string()> text);
  ~MetricsPort();
  MetricsPort(const MetricsPort&) = delete;
  MetricsPort& operator=(const MetricsPort&) = delete;

  Address address() const;  // with the real port

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace remotecl::server
