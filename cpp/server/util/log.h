#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "server/util/format.h"

namespace remotecl::server {

// kForDaemon: of the process of a session, whose lines the daemon writes into its own log.
enum class LogFormat { kText, kJson, kForDaemon };
enum class LogLevel { kTrace, kDebug, kInfo, kWarning, kError, kOff };

void write_log(LogLevel level, std::string_view format, std::initializer_list<FormatValue> values);

// Any thread.
template <class... Values>
void log_info(FormatString<sizeof...(Values)> format, const Values&... values) {
  write_log(LogLevel::kInfo, format.text(), {FormatValue(values)...});
}
template <class... Values>
void log_warning(FormatString<sizeof...(Values)> format, const Values&... values) {
  write_log(LogLevel::kWarning, format.text(), {FormatValue(values)...});
}
template <class... Values>
void log_error(FormatString<sizeof...(Values)> format, const Values&... values) {
  write_log(LogLevel::kError, format.text(), {FormatValue(values)...});
}

// Adds session and device to the lines that this thread logs while the object is on its stack. An inner scope
// inherits what it does not set from the outer one.
class LogScope {
 public:
  explicit LogScope(std::optional<std::uint64_t> session, std::optional<std::uint32_t> device = {});
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

  std::optional<std::uint64_t> session() const { return session_; }
  std::optional<std::uint32_t> device() const { return device_; }

 private:
  LogScope* const outer_;
  const std::optional<std::uint64_t> session_;
  const std::optional<std::uint32_t> device_;
};

// Starts logging to stderr, one line for each event. A text line is "remotecl-server: LEVEL: session ...,
// device ...: WORDS"; a JSON line is an object with time (UTC), level, session (16 hexadecimal digits),
// device and message; a line for the daemon is "LEVEL: device ...: WORDS".
void start_log(LogFormat format, LogLevel level);
void set_log_level(LogLevel level);
// Parses the value of --log-level.
LogLevel log_level(std::string_view name);
void flush_log();
// Takes the level from the beginning of a line for the daemon; other lines are warnings.
LogLevel take_log_level(std::string_view& line);

// Logs why the daemon ends, at every log level.
void log_end(const std::string& words);

}  // namespace remotecl::server
