#pragma once

#include <vector>

#include "runtime/base/bytes.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

// Bytes that came with a message and have to wait. Any thread.
class KeptBytes {
 public:
  // Throws HeldTooMuch.
  KeptBytes(const Ref<SessionCounters>& counters, Bytes bytes)
      : held_(counters, bytes.size() + sizeof(KeptBytes), HeldMemory::For::kCommand),
        data_(bytes.begin(), bytes.end()) {}
  KeptBytes(const KeptBytes&) = delete;
  KeptBytes& operator=(const KeptBytes&) = delete;

  Bytes bytes() const { return data_; }

 private:
  const HeldMemory held_;
  const std::vector<std::byte> data_;
};

}  // namespace remotecl::server
