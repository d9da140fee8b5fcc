#pragma once

#include <atomic>
#include <cstdint>

namespace remotecl {

// Where the bytes that commands read have come from. Any thread.
struct FetchCounts {
  struct Count {
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> bytes{0};
    void add(std::uint64_t size) {
      count.fetch_add(1, std::memory_order_relaxed);
      bytes.fetch_add(size, std::memory_order_relaxed);
    }
  };

  Count in_place;         // the device already had them, which saved a transfer
  Count from_host;        // sent from this process
  Count between_servers;  // over a link between two servers
  Count within_server;    // from another device of the same server
  Count found;            // of bytes that were to be sent from this process: the server had them already
  Count through_client;   // from another server through this process
};

}  // namespace remotecl
