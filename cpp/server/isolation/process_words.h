#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "server/util/descriptor.h"
#include "server/util/line_limit.h"

namespace remotecl::server {

// Writes into the daemon's log what a process writes to its standard error: its own log, the driver's words, and
// whatever kernels on a CPU write there. So each line says where it comes from, lines have a bounded length, and there
// is a bounded number in each second. Owned by the process's ChildProcess; one thread.
class ProcessWords {
 public:
  // Throws std::system_error.
  ProcessWords();

  // Called before the process exists and after it has been started.
  int end_of_process() const { return write_end_.get(); }
  void has_started(pid_t process);

  // For poll(): readable when there is something to take(); -1 when nothing comes any more.
  int handle() const { return read_end_.get(); }
  // Takes what is there, but only so much that others get their turn. Returns false if nothing was there. Never blocks.
  bool take();
  // Takes what is left of a process that has ended.
  void finish();

 private:
  static constexpr std::size_t kLineMax = 1000;  // bytes; the rest of a line is left out
  static constexpr unsigned kLinesMax = 100;     // in each second

  void add(std::string_view piece);
  void write_line();

  Descriptor read_end_, write_end_;
  pid_t process_ = -1;
  std::string line_;  // as far as it has come
  bool is_cut_ = false;
  LineLimit lines_{kLinesMax};
};

}  // namespace remotecl::server
