#pragma once

#include <CL/cl.h>

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/ref_counted.h"

namespace remotecl {

// A command's event, as its server's reports see it. Any thread.
class EventSink {
 public:
  // `profile`: the four times of CL_PROFILING_COMMAND_*, ns of the device's clock; null: there are none.
  virtual void complete(cl_int status, const std::array<std::uint64_t, 4>* profile) = 0;
  // The server is gone.
  virtual void lose() = 0;

 protected:
  ~EventSink() = default;
};

// A queue, for the failures of commands without an event. Any thread.
class QueueSink {
 public:
  virtual void command_failed(cl_int status) = 0;

 protected:
  ~QueueSink() = default;
};

// Sinks by id. The table does not own them: what it finds is kept while it is used. Needs its owner's lock.
template <class Sink>
class SinkTable {
 public:
  struct Found {
    Ref<const RefCounted> owner;
    Sink* sink = nullptr;

    explicit operator bool() const { return sink != nullptr; }
    Sink* operator->() const { return sink; }
  };

  // `owner`: the object that is the sink.
  void add(std::uint64_t id, const RefCounted& owner, Sink& sink) { sinks_.emplace(id, Entry{&owner, &sink}); }
  void remove(std::uint64_t id) { sinks_.erase(id); }
  Found find(std::uint64_t id) const {
    const auto at = sinks_.find(id);
    return at == sinks_.end() ? Found() : keep(at->second);
  }
  std::vector<Found> all() const {
    std::vector<Found> found;
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
  // The last reference may be going away right now, in a thread that waits for the lock to remove its sink.
  static Found keep(const Entry& entry) {
    if (!entry.owner->try_retain()) return {};
    return {Ref<const RefCounted>::adopt(entry.owner), entry.sink};
  }

  std::unordered_map<std::uint64_t, Entry> sinks_;
};

}  // namespace remotecl
