#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <string>

namespace remotecl::testing {

// Socket calls that fail inside of a process. remotecl_socket_faults is a library that stands in front of the C
// library's send(), recv() and so on: in a program that is linked to it, and in others that are started with
// preloaded(). On TCP sockets one of `one_in` calls fails, at random; which ones is decided by the seed and the number
// of the call among those of all processes.
class [[gnu::visibility("default")]] SocketFaults {
 public:
  enum Kind { kReset, kShort, kInterrupted, kWouldBlock, kKinds };

  // In a file that all processes map. None fail at first.
  SocketFaults(std::string path, std::uint64_t seed);
  ~SocketFaults();
  SocketFaults(const SocketFaults&) = delete;
  SocketFaults& operator=(const SocketFaults&) = delete;

  // What another program's environment needs.
  std::string preloaded() const;
  std::string setting() const;

  // 0: none.
  void set_one_in(std::uint32_t calls);
  std::array<std::uint64_t, kKinds> counts() const;

 private:
  const std::string path_;
};

// What the file holds.
struct SocketFaultsState {
  std::atomic<std::uint64_t> seed;
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint32_t> one_in;
  std::array<std::atomic<std::uint64_t>, SocketFaults::kKinds> counts;
};

// Maps it for this process.
[[gnu::visibility("default")]] bool use_socket_faults(const char* path);
[[gnu::visibility("default")]] SocketFaultsState* socket_faults();

}  // namespace remotecl::testing
