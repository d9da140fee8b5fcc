#pragma once

#include <spdlog/spdlog.h>

#include <cstdint>
#include <optional>
#include <string>

namespace remotecl::server {

enum class LogFormat { kText, kJson };

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
void start_log(LogFormat format, spdlog::level::level_enum level);

// Why the daemon ends; told at every level.
void log_end(const std::string& words);

}  // namespace remotecl::server
