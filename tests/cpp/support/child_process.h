#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace remotecl::testing {

// Another program, whose standard input and output are pipes of this process. It ends with this object. One thread.
class ChildProcess {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  static constexpr Deadline kNever = Deadline::max();
  static constexpr int kRunning = -1;

  // `environment`: "NAME=value" entries, which come before those that this process was started with, whatever it has
  // changed since.
  ChildProcess(std::vector<std::string> arguments, const std::vector<std::string>& environment);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t id() const { return id_; }  // -1: it has ended
  bool running();
  // As waitpid gives it, after the end.
  int status() const { return status_; }
  void signal(int signal) const;
  // Sends the signal and waits for the end.
  void end(int signal);
  void close_input();
  // What follows `begin` in a line of its output. Waits for it; throws std::runtime_error when the output or the time
  // ends before.
  std::string said(std::string_view begin, Deadline deadline = kNever);
  // Reads its output and waits for its end. Its exit status, 128 and more for a signal, or kRunning.
  int wait(Deadline deadline);
  const std::string& output() const { return output_; }  // as far as somebody waited for it

 private:
  bool read_more(Deadline deadline);
  bool reap(int options);

  pid_t id_ = -1;
  int status_ = 0;
  int input_ = -1;
  int output_end_ = -1;
  std::string output_;
};

}  // namespace remotecl::testing
