#include "server/util/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/base/printable.h"

namespace remotecl::server {
namespace {

using LevelName = std::pair<std::string_view, LogLevel>;
constexpr std::array<LevelName, 6> kLevelNames{{{"trace", LogLevel::kTrace},
                                                {"debug", LogLevel::kDebug},
                                                {"info", LogLevel::kInfo},
                                                {"warning", LogLevel::kWarning},
                                                {"error", LogLevel::kError},
                                                {"off", LogLevel::kOff}}};

thread_local LogScope* this_threads = nullptr;
LogFormat used_format = LogFormat::kText;

spdlog::level::level_enum native_level(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

std::string_view level_name(const spdlog::details::log_msg& line) {
  const auto name = spdlog::level::to_string_view(line.level);
  return {name.data(), name.size()};
}

class TextFormatter final : public spdlog::formatter {
 public:
  // Runs on the thread that logs; nothing is queued.
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& to) override {
    const auto out = std::back_inserter(to);
    fmt::format_to(out, "remotecl-server: {}: ", level_name(line));
    if (this_threads != nullptr) {
      const auto session = this_threads->session();
      const auto device = this_threads->device();
      if (session) fmt::format_to(out, "session {:016x}", *session);
      if (session && device) fmt::format_to(out, ", ");
      if (device) fmt::format_to(out, "device {}", *device);
      if (session || device) fmt::format_to(out, ": ");
    }
    // Some of the words come from clients, which must not be able to forge lines of their own.
    fmt::format_to(out, "{}\n", printable({line.payload.data(), line.payload.size()}));
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<TextFormatter>(); }
};

class DaemonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& to) override {
    const auto out = std::back_inserter(to);
    fmt::format_to(out, "{}: ", level_name(line));
    if (this_threads != nullptr && this_threads->device()) fmt::format_to(out, "device {}: ", *this_threads->device());
    fmt::format_to(out, "{}\n", printable({line.payload.data(), line.payload.size()}));
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<DaemonFormatter>(); }
};

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& to) override {
    const auto since_epoch = std::chrono::duration_cast<std::chrono::milliseconds>(line.time.time_since_epoch());
    const std::time_t seconds = since_epoch.count() / 1000;
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    char time[32];
    const std::size_t size = std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &utc);
    nlohmann::ordered_json object;
    object["time"] = fmt::format("{}.{:03}Z", std::string_view(time, size), since_epoch.count() % 1000);
    object["level"] = level_name(line);
    if (this_threads != nullptr) {
      if (const auto session = this_threads->session()) object["session"] = fmt::format("{:016x}", *session);
      if (const auto device = this_threads->device()) object["device"] = *device;
    }
    object["message"] = std::string(line.payload.data(), line.payload.size());
    // What clients say about themselves need not be UTF-8, and somebody may read it on a terminal.
    const std::string text = object.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
    to.append(text.data(), text.data() + text.size());
    to.push_back('\n');
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

}  // namespace

LogScope::LogScope(std::optional<std::uint64_t> session, std::optional<std::uint32_t> device)
    : outer_(this_threads),
      session_(session || outer_ == nullptr ? session : outer_->session()),
      device_(device || outer_ == nullptr ? device : outer_->device()) {
  this_threads = this;
}

LogScope::~LogScope() { this_threads = outer_; }

void write_log(LogLevel level, std::string_view format, std::initializer_list<FormatValue> values) {
  const auto wanted = native_level(level);
  if (spdlog::should_log(wanted)) spdlog::log(wanted, "{}", format_values(format, values));
}

void set_log_level(LogLevel level) { spdlog::set_level(native_level(level)); }

LogLevel log_level(std::string_view name) {
  const auto at = std::ranges::find(kLevelNames, name, &LevelName::first);
  return at == kLevelNames.end() ? LogLevel::kInfo : at->second;
}

LogLevel take_log_level(std::string_view& line) {
  for (const auto& [name, level] : kLevelNames) {
    if (level == LogLevel::kOff || !line.starts_with(name) || !line.substr(name.size()).starts_with(": ")) continue;
    line.remove_prefix(name.size() + 2);
    return level;
  }
  return LogLevel::kWarning;
}

void flush_log() { spdlog::default_logger()->flush(); }

void start_log(LogFormat format, LogLevel level) {
  used_format = format;
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  if (format == LogFormat::kJson) {
    spdlog::set_formatter(std::make_unique<JsonFormatter>());
  } else if (format == LogFormat::kForDaemon) {
    spdlog::set_formatter(std::make_unique<DaemonFormatter>());
  } else {
    spdlog::set_formatter(std::make_unique<TextFormatter>());
  }
  set_log_level(level);
}

void log_end(const std::string& words) {
  if (used_format == LogFormat::kText) {
    std::fprintf(stderr, "remotecl-server: %s\n", words.c_str());
  } else if (used_format == LogFormat::kForDaemon) {
    std::fprintf(stderr, "error: %s\n", words.c_str());
  } else {
    spdlog::set_level(spdlog::level::critical);
    spdlog::critical("{}", words);
  }
}

}  // namespace remotecl::server
