#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/isolation/private_folder.h"
#include "server/isolation/session_channel.h"

namespace remotecl::server {

// How to start the process of a session: a program and its arguments, the first of which is its name. It also gets
// --session-folder, the path of a folder of its own.
struct ProcessCommand {
  std::string program;
  std::vector<std::string> arguments;
};

// How a process has ended. A value.
struct ProcessEnd {
  int signal = 0;  // 0: none
  int exit_code = 0;

  std::string text() const;  // as in "it ..."
};

// A process that this one has started, with a channel to it, a folder of its own, and an environment for that. It, and
// all that it has started, ends with this object, and the process also with the thread that has started it, in whatever
// way that ends. One thread, but for the channel.
class ChildProcess {
 public:
  static constexpr int kChannelDescriptor = 3;  // in the process that is started

  // Throws std::system_error.
  explicit ChildProcess(const ProcessCommand& command);
  ~ChildProcess() { end(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t id() const { return id_; }
  SessionChannel& channel() { return channel_; }
  // Kills it and what it has started, unless they have ended, and waits for that.
  ProcessEnd end() EXCLUDES(mutex_);
  // Kills it. Any thread.
  void kill() EXCLUDES(mutex_);

 private:
  ChildProcess(const ProcessCommand& command, std::pair<SessionChannel, SessionChannel> ends);

  const PrivateFolder folder_;
  SessionChannel channel_;
  pid_t id_ = -1;
  Mutex mutex_;  // as long as it is held, the id is no other process's
  std::optional<ProcessEnd> end_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
