#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/transport/address.h"

namespace remotecl::server {

// Answers GET /metrics over HTTP/1.0, on a port and a thread of its own. Serves a few clients at a time, each
// for a few seconds; when one more comes, the oldest is closed. Owned by main() or a test.
class MetricsPort {
 public:
  // `text` is called on the port's thread. Throws ConnectionError.
  MetricsPort(const Address& address, std::function<std::string()> text);
  ~MetricsPort();
  MetricsPort(const MetricsPort&) = delete;
  MetricsPort& operator=(const MetricsPort&) = delete;

  Address address() const;  // with the port actually used

 private:
  class Exchange;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace remotecl::server
