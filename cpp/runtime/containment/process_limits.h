#pragma once

namespace remotecl {

// The most threads, with processes, of one session's or plugin's process.
inline constexpr int kProcessThreadsMax = 4096;

// What this process may take of the machine, beside what its other users need.
struct ProcessLimits {
  bool bounds_memory = true;         // it takes no more of its own than the machine has; a GPU's driver reserves more
  bool bounds_files = true;          // no file that it writes may grow beyond all measure
  bool is_only_one_of_user = false;  // no other process has its user, so that its processes and threads can be counted
};

// Limits this process, and all that it starts: no memory dumps, no more memory of its own than the machine has, files
// of a bounded size, a bounded number of descriptors and, where they can be counted, of threads. An honest program does
// not reach them. What cannot be set stays as it is.
void limit_process(const ProcessLimits& limits);

}  // namespace remotecl
