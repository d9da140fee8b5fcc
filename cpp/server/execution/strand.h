#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "runtime/base/ref_counted.h"
#include "server/completion/completion_notifier.h"
#include "server/util/error_words.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// The lock and the lifetime of a session. All background work for the session owns a reference to this. Any
// thread.
class Strand : public virtual RefCounted {
 public:
  explicit Strand(std::uint64_t id) : id_(id), completions_(on_failure()) {}
  ~Strand() override { completions_.stop(); }

  std::uint64_t id() const { return id_; }
  const CompletionNotifier& completions() const { return completions_; }

  // Runs `job`, and what follows from it, under the lock. Returns false, without running it, if the session
  // is closed.
  template <class Job>
  bool with_lock(Job&& job) EXCLUDES(session_lock) {
    return run_locked(std::ref(job));
  }
  // The same on a thread that may enqueue native commands. A driver's callback may call this.
  virtual void later(std::function<void()> job) = 0;
  // The same on a thread of this session's own.
  virtual void post(std::function<void()> job) = 0;
  // Ends the session. Sends a last message to the client, unless `text` is empty.
  virtual void close(const std::string& text) = 0;
  // Ends the session for an error of this server's, and no other session. Any thread, however little memory is left.
  void fail(const std::exception& error) noexcept {
    try {
      return close(words_of(error));
    } catch (const std::exception&) {  // no memory for the words
    }
    close({});
  }
  // The body of a thread of the session.
  template <class Work>
  void guard(const Work& work) noexcept {
    try {
      work();
    } catch (const std::exception& error) {
      fail(error);
    }
  }
  // fail() as what the session's threads call.
  std::function<void(const std::exception&)> on_failure() {
    return [this](const std::exception& error) { fail(error); };
  }

 private:
  virtual bool run_locked(const std::function<void()>& job) EXCLUDES(session_lock) = 0;

  const std::uint64_t id_;
  const CompletionNotifier completions_;
};

}  // namespace remotecl::server
