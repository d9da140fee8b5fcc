#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/base/ref_counted.h"
#include "server/completion/completion_notifier.h"

namespace remotecl::server {

// A session, for whatever has work of it in flight: its lock, and its life. Such work owns a reference. Any thread.
class Strand : public virtual RefCounted {
 public:
  explicit Strand(std::uint64_t id) : id_(id) {}
  ~Strand() override { completions_.stop(); }

  std::uint64_t id() const { return id_; }
  const CompletionNotifier& completions() const { return completions_; }

  // Runs `job` with the lock, and what follows from it. False, and nothing was run, when the session is closed.
  template <class Job>
  bool with_lock(Job&& job) {
    return run_locked(std::ref(job));
  }
  // The same on a thread where native commands may be enqueued. A driver's callback may call this.
  virtual void later(std::function<void()> job) = 0;
  // Ends the session, with last words for the client unless they are empty.
  virtual void close(const std::string& text) = 0;

 private:
  virtual bool run_locked(const std::function<void()>& job) = 0;

  const std::uint64_t id_;
  const CompletionNotifier completions_;
};

}  // namespace remotecl::server
