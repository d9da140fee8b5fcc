#pragma once

#include <CL/cl.h>

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "runtime/client/session/loss_state.h"

namespace remotecl {

// The interface of a command's event to its server's reports. Any thread.
class EventSink {
 public:
  // `profile`: the four times of CL_PROFILING_COMMAND_*, in ns of the device's clock, or null.
  virtual void complete(cl_int status, const std::array<std::uint64_t, 4>* profile) = 0;
  // The server has not carried the command out.
  virtual void refuse(cl_int status) = 0;
  // The server is lost.
  virtual void lose() = 0;

 protected:
  ~EventSink() = default;
};

// The interface of a queue to reports about failed commands without an event. Any thread.
class QueueSink {
 public:
  virtual void command_failed(cl_int status) = 0;

 protected:
  ~QueueSink() = default;
};

// Sinks by id. The table does not own them; find() and all() keep what they return alive. Any thread.
template <class Sink>
class SinkTable {
 public:
  explicit SinkTable(const LossState& loss) : loss_(loss) {}

  struct Found {
    Ref<const RefCounted> owner;
    Sink* sink = nullptr;

    explicit operator bool() const { return sink != nullptr; }
    Sink* operator->() const { return sink; }
  };

  // `owner`: the object that is the sink. Returns false if the session is lost, because all() may have been
  // called before.
  bool add(std::uint64_t id, const RefCounted& owner, Sink& sink) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    sinks_.emplace(id, Entry{&owner, &sink});
    return !loss_.lost();
  }
  void remove(std::uint64_t id) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    sinks_.erase(id);
  }
  Found find(std::uint64_t id) const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto at = sinks_.find(id);
    return at == sinks_.end() ? Found() : keep(at->second);
  }
  std::vector<Found> all() const EXCLUDES(mutex_) {
    std::vector<Found> found;
    const MutexLock lock(mutex_);
    for (const auto& [id, entry] : sinks_) {
      if (Found kept = keep(entry)) found.push_back(std::move(kept));
    }
    return found;
  }

 private:
  struct Entry {
    const RefCounted* owner;
    Sink* sink;
  };
  // Fails if the last reference is just being released by a thread that waits for the lock to remove its
  // sink.
  static Found keep(const Entry& entry) {
    if (!entry.owner->try_retain()) return {};
    return {Ref<const RefCounted>::adopt(entry.owner), entry.sink};
  }

  const LossState& loss_;
  mutable Mutex mutex_;
  std::unordered_map<std::uint64_t, Entry> sinks_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
