#include "extras/streams/driver/plugin_log.h"

#include <chrono>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"

namespace remotecl::plugins {
namespace {

constexpr std::size_t kKeptMax = 64;
constexpr std::chrono::milliseconds kPause{100};

struct Log {
  Mutex mutex;
  LogSink sink GUARDED_BY(mutex) = nullptr;
  std::vector<std::string> kept GUARDED_BY(mutex);
  std::chrono::steady_clock::time_point next GUARDED_BY(mutex);
  unsigned left_out GUARDED_BY(mutex) = 0;
};

Log& the_log() {
  static Log& log = *new Log;
  return log;
}

}  // namespace

void log_line(const std::string& line) {
  Log& log = the_log();
  std::string text = line;
  LogSink sink = nullptr;
  {
    MutexLock lock(log.mutex);
    sink = log.sink;
    if (sink == nullptr) {
      if (log.kept.size() < kKeptMax) log.kept.push_back(line);
      return;
    }
    const auto time = std::chrono::steady_clock::now();
    if (time < log.next) {
      ++log.left_out;
      return;
    }
    log.next = time + kPause;
    const unsigned left_out = std::exchange(log.left_out, 0);
    if (left_out != 0) text += " (" + std::to_string(left_out) + " lines before it were left out)";
  }
  sink(text.c_str());
}

void set_log(LogSink sink) {
  Log& log = the_log();
  std::vector<std::string> kept;
  {
    MutexLock lock(log.mutex);
    log.sink = sink;
    kept = std::exchange(log.kept, {});
  }
  for (const std::string& line : kept) sink(line.c_str());
}

}  // namespace remotecl::plugins
