#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace remotecl::testing {

// Queue pairs of RDMA that go into error inside of a process, while data flows. remotecl_queue_pair_faults is a library
// that stands in front of libibverbs' ibv_create_qp(): in a program that is linked to it, and in others that are
// started with preloaded(). At one of `one_in` requests that are posted, the queue pair of the request, or another one
// of the same process, goes into error; which requests is decided by the seed and the number of the request among those
// of all processes.
class [[gnu::visibility("default")]] QueuePairFaults {
 public:
  enum Kind { kInClient, kInServerOfClient, kInServerOfServer, kKinds };

  // In a file that all processes map. None fail at first. This process is the client.
  QueuePairFaults(std::string path, std::uint64_t seed);
  ~QueuePairFaults();
  QueuePairFaults(const QueuePairFaults&) = delete;
  QueuePairFaults& operator=(const QueuePairFaults&) = delete;

  // What another program's environment needs.
  std::string preloaded() const;
  std::string setting() const;

  // 0: none.
  void set_one_in(std::uint32_t requests);
  std::array<std::uint64_t, kKinds> counts() const;
  std::uint64_t total() const;
  std::uint64_t made() const;  // queue pairs, by all processes
  int usable() const;          // those of them that are neither destroyed nor in error by a fault

 private:
  const std::string path_;
};

// What the file holds.
struct QueuePairFaultsState {
  static constexpr std::size_t kNumbers = std::size_t{1} << 17;  // of queue pairs that Soft-RoCE gives

  std::atomic<std::uint64_t> seed;
  std::atomic<std::uint64_t> requests;
  std::atomic<std::uint32_t> one_in;
  std::array<std::atomic<std::uint64_t>, QueuePairFaults::kKinds> counts;
  std::atomic<std::uint64_t> made;
  std::atomic<std::int64_t> usable;
  std::array<std::atomic<bool>, kNumbers> is_of_client;  // by the number of the queue pair
};

// Maps it for this process.
[[gnu::visibility("default")]] bool use_queue_pair_faults(const char* path);
[[gnu::visibility("default")]] QueuePairFaultsState* queue_pair_faults();

}  // namespace remotecl::testing
