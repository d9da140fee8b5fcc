#pragma once

#include <atomic>
#include <cstdint>

namespace remotecl {

// Where the bytes that commands read came from, in this process so far. Any thread.
struct FetchCounts {
  struct Count {
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> bytes{0};
    void add(std::uint64_t size) {
      count.fetch_add(1, std::memory_order_relaxed);
      bytes.fetch_add(size, std::memory_order_relaxed);
    }
  };

  static FetchCounts& instance() {
    static constinit FetchCounts counts;
    return counts;
  }

  Count in_place;         // the device had them: a transfer saved
  Count from_host;        // sent from this process
  Count between_servers;  // by a link of two servers
  Count within_server;    // from another device of the same server
  Count through_client;   // from another server by way of this process
};

}  // namespace remotecl
