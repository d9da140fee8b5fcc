#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace remotecl::testing {

struct ResourceFaultsState {
  std::atomic<std::uint32_t> kind;
  std::atomic<bool> of_session_process;    // only its calls count; otherwise only those of other processes
  std::atomic<std::uint64_t> first, last;  // the calls that fail, counted from 1
  std::atomic<std::uint64_t> calls, failed;
  std::atomic<std::int64_t> closed;  // descriptors, since all fail
};

// Makes calls of one kind fail in processes that are started with the environment `setting`, as the system does that
// has run out of threads, descriptors, memory or disk. Calls of drivers and of the OpenCL loader succeed. Between two
// processes of one environment, the daemon and its sessions' processes, `of_session_process` chooses. One thread.
class ResourceFaults {
 public:
  enum Kind : std::uint32_t { kNone, kThread, kDescriptor, kMemory, kDisk };

  // Makes the file `path`.
  explicit ResourceFaults(std::string path);
  ~ResourceFaults();
  ResourceFaults(const ResourceFaults&) = delete;
  ResourceFaults& operator=(const ResourceFaults&) = delete;

  std::string setting() const;
  // From now on the calls `first` to `last`, counted from 1, fail.
  void begin(Kind kind, bool of_session_process, std::uint64_t first, std::uint64_t last);
  // The shortage is over; gives the number of calls that have failed.
  std::uint64_t end();
  std::uint64_t calls() const;

 private:
  const std::string path_;
  ResourceFaultsState* const state_;
};

}  // namespace remotecl::testing
