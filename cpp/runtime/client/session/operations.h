#pragma once

#include "runtime/base/mutex.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace remotecl {

class Session;

// One operation that takes a while, as an observer sees it.
struct Operation {
  enum class Kind { kUpload, kDownload, kBetweenServers, kBuild, kConnect };

  std::uint64_t id;
  Kind kind;
  std::string where;       // "host:port", or several; between servers "host:port to host:port"
  std::uint64_t done = 0;  // bytes of a transfer, else servers; between servers 0, because only they know it
  std::uint64_t total = 0;
};

// The running operations: bulk transfers (between servers too), builds, and connecting. Observers poll it now
// and then. It notifies nobody, so it costs the threads that do the work next to nothing. Any thread.
class Operations {
 public:
  // Listed as long as it exists.
  class Running {
   public:
    Running(Operations& all, Operation::Kind kind, std::string where, std::uint64_t total);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    void advance() { done_.fetch_add(1, std::memory_order_relaxed); }

   private:
    friend class Operations;
    Operations& all_;
    const std::uint64_t id_;
    const Operation::Kind kind_;
    const std::string where_;
    const std::uint64_t total_;
    std::atomic<std::uint64_t> done_{0};
  };

  // Smaller transfers end before anyone could see them.
  static constexpr std::uint64_t kTransferSizeMin = 1u << 20;

  // Also lists the transfers of these sessions.
  void add(const Session& session);
  void remove(const Session& session);
  std::vector<Operation> list() const;

 private:
  mutable Mutex mutex_;
  std::vector<const Running*> running_ GUARDED_BY(mutex_);
  std::vector<const Session*> sessions_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
