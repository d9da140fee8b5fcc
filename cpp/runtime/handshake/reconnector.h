#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/stoppable_thread.h"
#include "runtime/handshake/stripes.h"
#include "runtime/transport/stream/resumable_connection.h"

namespace remotecl {

// REMOTECL_RECONNECT from the environment, in seconds: how long a lost connection is retried. The default is
// 30 s.
std::chrono::milliseconds reconnect_window();

// Resumes the streams of one session or link that this side has connected. When one breaks, it reconnects at
// once, and then after growing random pauses (exponential back-off with jitter), until the window has passed
// or the other side says that the stream cannot be resumed. Then all streams end. A connection that breaks at
// once without carrying a byte counts as failed. Any thread.
class Reconnector {
 public:
  // Receives messages for the user, on the thread that connects: that reconnecting takes a while, and that it
  // has succeeded.
  using News = std::function<void(const std::string&)>;

  // `connect_timeout`: that of a stream's first connection.
  Reconnector(Address address, Invitation invitation, std::chrono::milliseconds window,
              std::chrono::milliseconds connect_timeout, Joiner join, News news);
  ~Reconnector() { stop(); }
  Reconnector(const Reconnector&) = delete;
  Reconnector& operator=(const Reconnector&) = delete;

  // The stream must outlive stop(). `channel`: of a session's bulk data. `features` are requested when it is
  // resumed.
  void add(ResumableConnection& stream, Role role, unsigned channel = 0, std::uint64_t features = 0)
      EXCLUDES(thread_.mutex);
  // One of the streams has broken. Does not wait.
  void broken() EXCLUDES(thread_.mutex);
  // Ends the present attempt, waits for that and makes no more. Broken streams stay broken.
  void stop() EXCLUDES(thread_.mutex);
  // Why the streams have ended; empty unless the reason was the lack of a connection.
  std::string reason() const EXCLUDES(thread_.mutex);
  // Whether the last attempt to connect found no server.
  bool found_nobody() const EXCLUDES(thread_.mutex);

 private:
  struct Stream {
    ResumableConnection* connection;
    Role role;
    std::uint64_t features;
  };
  // The traffic of the last connection of a stream.
  struct Flow {
    std::uint64_t bytes = 0;                      // of the stream, both ways, when it was last resumed
    std::chrono::steady_clock::time_point since;  // when it was last resumed
    bool is_carried = false;
    bool was_in_vain = false;  // the connection before that one had carried nothing
  };

  void run() EXCLUDES(thread_.mutex);
  // Returns false if no more attempts are to be made.
  bool resume_streams(bool& is_news) EXCLUDES(thread_.mutex);
  // Waits for a growing pause. Returns false if no more attempts are to be made.
  bool rest(std::chrono::milliseconds& pause, std::chrono::steady_clock::time_point until) EXCLUDES(thread_.mutex);
  bool is_in_vain(const std::vector<Stream>& streams);
  bool came_to_nothing(const Stream& stream, std::uint64_t bytes);
  // The end of an attempt for streams that broke at `since`.
  Deadline end_of_attempt(std::chrono::steady_clock::time_point since) const;
  Joined join(const JoinRequest& request, Deadline deadline) EXCLUDES(thread_.mutex);
  // Returns an empty text, or why the stream cannot be resumed now.
  std::string carry_on(const Stream& stream, Deadline deadline) EXCLUDES(thread_.mutex);
  void give_up(const std::string& reason) EXCLUDES(thread_.mutex);
  std::vector<Stream> broken_streams() EXCLUDES(thread_.mutex);

  const Address address_;
  const Invitation invitation_;
  const std::chrono::milliseconds window_;
  const std::chrono::milliseconds connect_timeout_;
  const Joiner join_;
  const News news_;

  // Used by the thread only.
  std::chrono::milliseconds pause_;       // after a failed attempt
  std::chrono::milliseconds vain_pause_;  // after a connection that carried nothing
  std::minstd_rand random_{std::random_device{}()};
  std::unordered_map<const ResumableConnection*, Flow> flows_;

  std::vector<Stream> streams_ GUARDED_BY(thread_.mutex);
  std::stop_source stopping_;  // ends the present attempt
  std::string reason_ GUARDED_BY(thread_.mutex);
  bool found_nobody_ GUARDED_BY(thread_.mutex) = false;
  std::uint64_t breaks_ GUARDED_BY(thread_.mutex) = 0;
  StoppableThread thread_{[this] { run(); }};
};

}  // namespace remotecl
