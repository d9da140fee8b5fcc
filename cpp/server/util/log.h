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

// One value of a line. Only log.cpp includes the log's library, whose headers take longer to compile than any of our
// files.
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

// `format` has {} for each value, as std::format() has. Any thread.
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

// What the lines that a thread logs are about, as fields of theirs, as long as this is on the thread's stack. What an
// inner one does not say, an outer one does.
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

// From now on the log goes to stderr, one line for each event. A text is "remotecl-server: LEVEL: session ..., device
// ...: WORDS"; JSON is an object with time (UTC), level, session (16 hexadecimal digits), device and message.
void start_log(LogFormat format, LogLevel level);
void set_log_level(LogLevel level);
// As --log-level takes it.
LogLevel log_level(std::string_view name);
void flush_log();

// Why the daemon ends; told at every level.
void log_end(const std::string& words);

}  // namespace remotecl::server
