#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/isolation/private_folder.h"
#include "server/isolation/process_words.h"
#include "server/isolation/session_cgroup.h"
#include "server/isolation/session_channel.h"

namespace remotecl::server {

// How to start the process of a session: a program and its arguments, of which the first is its name.
// ChildProcess appends --session-folder with the path of the process's folder.
struct ProcessCommand {
  std::string program;
  std::vector<std::string> arguments;
};

// How a process has ended. A value.
struct ProcessEnd {
  int signal = 0;  // 0: no signal
  int exit_code = 0;

  std::string text() const;  // the predicate of a sentence about the process
};

// A process that this one has started, with a channel to it and a folder and environment of its own. What it writes to
// its standard error goes into this process's log, what it writes to its standard output nowhere. It ends,
// with all processes that it has started, when this object is destroyed. It also ends when the thread that
// started it ends, for whatever reason. Used by one thread, except for the channel.
class ChildProcess {
 public:
  static constexpr int kChannelDescriptor = 3;  // in the new process

  // Throws std::system_error.
  explicit ChildProcess(const ProcessCommand& command) : ChildProcess(command, SessionChannel::make()) {}
  // With a channel whose second end is the process's.
  ChildProcess(const ProcessCommand& command, std::pair<SessionChannel, SessionChannel> ends);
  ~ChildProcess() { end(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t id() const { return id_; }
  SessionChannel& channel() { return channel_; }
  // Waits for a packet or the channel's end. Returns false if `other`, unless -1, becomes readable before, or at the
  // deadline. Meanwhile logs what the process writes.
  bool await_packet(int other, Deadline deadline = Deadline::max());
  // Kills it and what it has started, if they have not ended, and waits for its end.
  ProcessEnd end() EXCLUDES(mutex_);
  // Kills it. Any thread.
  void kill() EXCLUDES(mutex_);

 private:
  const PrivateFolder folder_;
  SessionCgroup group_;
  SessionChannel channel_;
  ProcessWords words_;
  pid_t id_ = -1;
  Mutex mutex_;  // while it is held, the id cannot be another process's
  std::optional<ProcessEnd> end_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
