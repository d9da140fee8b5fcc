#pragma once

#include <vector>

#include "runtime/base/bytes.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

// Bytes of a message that have to wait. Any thread.
class HeldPayload {
 public:
  // Throws HeldTooMuch.
  HeldPayload(const Ref<SessionCounters>& counters, Bytes bytes)
      : held_(counters, bytes.size() + sizeof(HeldPayload), HeldMemory::For::kCommand),
        data_(bytes.begin(), bytes.end()) {}
  HeldPayload(const HeldPayload&) = delete;
  HeldPayload& operator=(const HeldPayload&) = delete;

  Bytes bytes() const { return data_; }

 private:
  const HeldMemory held_;
  const std::vector<std::byte> data_;
};

}  // namespace remotecl::server
