#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/stoppable_thread.h"
#include "runtime/store/content_store.h"
#include "server/completion/cl.h"
#include "server/program/build_record.h"

namespace remotecl::server {

// The kernels of a program built by this process of which no native kernel has been made yet. Any thread.
class UnusedKernels {
 public:
  UnusedKernels(const std::vector<KernelRecord>& kernels, std::function<void()> one_less);

  void use(const std::string& kernel) EXCLUDES(mutex_);
  bool empty() const EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::set<std::string> names_ GUARDED_BY(mutex_);
  const std::function<void()> one_less_;
};

// Stores the binaries of programs, on its own thread, once nothing has been built for a while: PoCL compiles
// the kernels again for a binary, and new kernels would wait for that. It also ends the process if it cannot
// compile one. So a program whose driver compiles for a binary is left alone until each of its kernels has
// been used, or the process's only session has ended. One that has kernels of a fixed work-group size waits for that
// end in any case: PoCL 3.1 finds what a running kernel was compiled to by its hash and work-group size, so that it
// then finds what it has compiled for the binary, and ends the process. Any thread.
class BuildSaver {
 public:
  using ReadBinary = std::function<cl_int(cl_program, std::vector<std::byte>&)>;

  struct Build {
    std::string owner;
    Digest key;
    cl_program program = nullptr;  // the caller's; add() retains it
    BuildRecord record;
    std::shared_ptr<UnusedKernels> unused;  // null: saved without waiting for kernels to be used
  };

  BuildSaver(ContentStore& store, ReadBinary read_binary);
  // Drops what has not been saved.
  ~BuildSaver();
  BuildSaver(const BuildSaver&) = delete;
  BuildSaver& operator=(const BuildSaver&) = delete;

  void add(Build build) EXCLUDES(thread_.mutex);
  // Something is built or used for the first time.
  void note_activity() EXCLUDES(thread_.mutex);
  // Saves everything now, on this thread, and waits for what the saver's thread is saving at that moment. Starts no
  // save and waits no longer after the deadline.
  void save_all(std::chrono::steady_clock::time_point deadline) EXCLUDES(thread_.mutex);

 private:
  using Clock = std::chrono::steady_clock;
  using Builds = std::list<Build>;
  static constexpr std::size_t kCountMax = 32;
  static constexpr std::chrono::milliseconds kQuiet{1000};

  void run() EXCLUDES(thread_.mutex);
  static bool is_ready(const Build& build);
  Builds take_ready() REQUIRES(thread_.mutex);
  void save(const Build& build);
  static void release(Builds& builds);

  ContentStore& store_;
  const ReadBinary read_binary_;
  Clock::time_point active_at_ GUARDED_BY(thread_.mutex);
  Builds builds_ GUARDED_BY(thread_.mutex);  // the oldest first
  bool is_saving_ GUARDED_BY(thread_.mutex) = false;
  ConditionVariable saved_;
  StoppableThread thread_{[this] { run(); }};
};

}  // namespace remotecl::server
