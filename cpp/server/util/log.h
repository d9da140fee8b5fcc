#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace remotecl::server {

enum class LogFormat { kText, kJson };
enum class LogLevel { kTrace, kDebug, kInfo, kWarning, kError, kOff };

// One value of a log line. Only log.cpp includes the log library, because its headers take longer to compile
// than any of our files.
class LogValue {
 public:
  LogValue(std::string_view text) : value_(text) {}
  LogValue(const std::string& text) : value_(std::string_view(text)) {}
  LogValue(const char* text) : value_(std::string_view(text)) {}
  LogValue(std::signed_integral auto number) : value_(std::int64_t{number}) {}
  LogValue(std::unsigned_integral auto number) : value_(std::uint64_t{number}) {}

  const auto& value() const { return value_; }

 private:
  std::variant<std::string_view, std::int64_t, std::uint64_t> value_;
};

// `format` has one {} for each value, as in std::format(). Any thread.
void write_log(LogLevel level, std::string_view format, std::initializer_list<LogValue> values);

template <class... Values>
void log_info(std::string_view format, const Values&... values) {
  write_log(LogLevel::kInfo, format, {LogValue(values)...});
}
template <class... Values>
void log_warning(std::string_view format, const Values&... values) {
  write_log(LogLevel::kWarning, format, {LogValue(values)...});
}
template <class... Values>
void log_error(std::string_view format, const Values&... values) {
  write_log(LogLevel::kError, format, {LogValue(values)...});
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
// device and message.
void start_log(LogFormat format, LogLevel level);
void set_log_level(LogLevel level);
// Parses the value of --log-level.
LogLevel log_level(std::string_view name);
void flush_log();

// Logs why the daemon ends, at every log level.
void log_end(const std::string& words);

}  // namespace remotecl::server
