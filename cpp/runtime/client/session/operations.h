#pragma once

#include "runtime/base/mutex.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace remotecl {

class Session;

// One thing that takes its time, as somebody who watches sees it.
struct Operation {
  enum class Kind { kUpload, kDownload, kBetweenServers, kBuild, kConnect };

  std::uint64_t id;
  Kind kind;
  std::string where;       // "host:port", or several; between servers "host:port to host:port"
  std::uint64_t done = 0;  // bytes of a transfer, else servers; between servers 0, as these know it
  std::uint64_t total = 0;
};

// What lasts: bulk transfers, also between servers, builds, connecting. It is there to be looked at now and then and
// tells nobody, so that it costs those who do the work next to nothing. One for the process; any thread.
class Operations {
 public:
  // Lasts as long as somebody holds it.
  class Running {
   public:
    Running(Operation::Kind kind, std::string where, std::uint64_t total);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    void advance() { done_.fetch_add(1, std::memory_order_relaxed); }

   private:
    friend class Operations;
    const std::uint64_t id_;
    const Operation::Kind kind_;
    const std::string where_;
    const std::uint64_t total_;
    std::atomic<std::uint64_t> done_{0};
  };

  // Smaller transfers are over before anybody could look.
  static constexpr std::uint64_t kTransferSizeMin = 1u << 20;

  static Operations& instance();

  // Whose transfers are seen, too.
  void add(const Session& session);
  void remove(const Session& session);
  std::vector<Operation> list() const;

 private:
  mutable Mutex mutex_;
  std::vector<const Running*> running_ GUARDED_BY(mutex_);
  std::vector<const Session*> sessions_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
