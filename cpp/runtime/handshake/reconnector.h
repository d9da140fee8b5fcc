#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/handshake/stripes.h"
#include "runtime/transport/stream/resumable_connection.h"

namespace remotecl {

// REMOTECL_RECONNECT in the environment, in seconds: how long a lost connection is tried again. 30 s without.
std::chrono::milliseconds reconnect_window();

// Carries on the streams of one session, or of one link, that this side has connected: when one breaks, it connects
// again, at once, then with growing and random pauses (exponential back-off with jitter), until the window has passed
// or the other side says that there is nothing to go on with. Then the streams end. Connections that break at once, and
// over which no byte has come through, count as none. Any thread.
class Reconnector {
 public:
  // What people may want to know, on the thread that connects: that it takes a while, and that it has succeeded.
  using News = std::function<void(const std::string&)>;

  // `connect_timeout`: of a stream's first connection.
  Reconnector(Address address, Invitation invitation, std::chrono::milliseconds window,
              std::chrono::milliseconds connect_timeout, Dial dial, News news);
  ~Reconnector() { stop(); }
  Reconnector(const Reconnector&) = delete;
  Reconnector& operator=(const Reconnector&) = delete;

  // It must outlive stop(). `channel`: of a session's bulk data. `features` are asked for when it is carried on.
  void add(ResumableConnection& stream, Role role, unsigned channel = 0, std::uint64_t features = 0) EXCLUDES(mutex_);
  // One of them has broken. Does not wait.
  void broken() EXCLUDES(mutex_);
  // Connects no more, and waits for what is being tried. Streams that are broken stay so.
  void stop() EXCLUDES(mutex_);
  // Why the streams have ended; empty when that was not for want of a connection.
  std::string reason() const EXCLUDES(mutex_);
  // Whether nobody was there when it last tried to connect.
  bool found_nobody() const EXCLUDES(mutex_);

 private:
  struct Stream {
    ResumableConnection* connection;
    Role role;
    std::uint64_t features;
  };
  // What has come through the connections that carried a stream on.
  struct Flow {
    std::uint64_t bytes = 0;                      // of the stream, both ways, when it was last carried on
    std::chrono::steady_clock::time_point since;  // it was
    bool is_carried = false;
    bool was_in_vain = false;  // nothing had come through the connection before
  };

  void run() EXCLUDES(mutex_);
  // A pause that grows. False when no more is to be tried.
  bool rest(std::chrono::milliseconds& pause, std::chrono::steady_clock::time_point until) EXCLUDES(mutex_);
  bool is_in_vain(const std::vector<Stream>& streams);
  bool came_to_nothing(const Stream& stream, std::uint64_t bytes);
  // When an attempt has taken long enough, of streams that are broken since then.
  Deadline end_of_attempt(std::chrono::steady_clock::time_point since) const;
  std::shared_ptr<Connection> dial(Deadline deadline) EXCLUDES(mutex_);
  // Empty, or why it cannot be carried on now.
  std::string carry_on(const Stream& stream, Deadline deadline) EXCLUDES(mutex_);
  void give_up(const std::string& reason) EXCLUDES(mutex_);
  std::vector<Stream> broken_streams() EXCLUDES(mutex_);

  const Address address_;
  const Invitation invitation_;
  const std::chrono::milliseconds window_;
  const std::chrono::milliseconds connect_timeout_;
  const Dial dial_;
  const News news_;

  // The thread's.
  std::chrono::milliseconds pause_;       // after an attempt that has failed
  std::chrono::milliseconds vain_pause_;  // after a connection that was in vain
  std::minstd_rand random_{std::random_device{}()};
  std::unordered_map<const ResumableConnection*, Flow> flows_;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Stream> streams_ GUARDED_BY(mutex_);
  std::shared_ptr<Connection> in_handshake_ GUARDED_BY(mutex_);
  std::string reason_ GUARDED_BY(mutex_);
  bool found_nobody_ GUARDED_BY(mutex_) = false;
  std::uint64_t breaks_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
