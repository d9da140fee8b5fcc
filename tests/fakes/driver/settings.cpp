#include "fakes/driver/settings.h"

#include <sys/stat.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "runtime/base/mutex.h"

namespace remotecl::fake {
namespace {

[[noreturn]] void refuse(std::string_view word) {
  throw std::runtime_error("REMOTECL_FAKE_DRIVER has the word \"" + std::string(word) + "\", which is none");
}

template <class T>
T number(std::string_view text, std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(word);
  return value;
}

// Takes what stands before the separator.
std::string_view next(std::string_view& list, char separator) {
  const std::size_t at = list.find(separator);
  const std::string_view first = list.substr(0, at);
  list = at == std::string_view::npos ? std::string_view{} : list.substr(at + 1);
  return first;
}

// FUNCTION[:CALL[:ERROR]]
Fault parse_fault(std::string_view text, std::string_view word) {
  Fault fault;
  fault.function = next(text, ':');
  if (const std::string_view call = next(text, ':'); !call.empty()) fault.call = number<std::uint64_t>(call, word);
  if (!text.empty()) fault.error = number<cl_int>(text, word);
  return fault;
}

void parse_word(std::string_view word, Settings& settings) {
  PlatformSettings& platform = settings.platforms.back();
  std::string_view value = word;
  const std::string_view name = next(value, '=');
  if (name == "platform") {
    platform.name = value;
  } else if (name == "cpu") {
    platform.cpus = number<int>(value, word);
  } else if (name == "gpu") {
    platform.gpus = number<int>(value, word);
  } else if (name == "accelerator") {
    platform.accelerators = number<int>(value, word);
  } else if (name == "custom") {
    platform.customs = number<int>(value, word);
  } else if (name == "memory-mb") {
    settings.memory = number<std::uint64_t>(value, word) << 20;
  } else if (name == "base-alignment") {
    settings.base_alignment = number<cl_uint>(value, word);
  } else if (name == "any-sub-buffer") {
    settings.takes_any_sub_buffer = true;
  } else if (name == "kernel-group") {
    settings.kernel_group = number<std::size_t>(value, word);
  } else if (name == "kernel-us") {
    settings.kernel_time = std::chrono::microseconds(number<std::int64_t>(value, word));
  } else if (name == "item-ns") {
    settings.item_time = std::chrono::nanoseconds(number<std::int64_t>(value, word));
  } else if (name == "callback-us") {
    settings.callback_time = std::chrono::microseconds(number<std::int64_t>(value, word));
  } else if (name == "chained-failures") {
    settings.chains_failures = true;
  } else if (name == "failed-waits") {
    settings.failed_wait_status = number<cl_int>(value, word);
  } else if (name == "clock-ahead-s") {
    settings.clock_ahead = std::chrono::seconds(number<std::int64_t>(value, word));
  } else if (name == "builds-at-once") {
    settings.builds_at_once = number<std::uint64_t>(value, word);
  } else if (name == "fail") {
    settings.faults.push_back(parse_fault(value, word));
  } else if (name == "threadless") {
    settings.is_threadless = true;
  } else if (name == "one-kernel-at-a-time") {
    settings.runs_one_kernel = true;
  } else if (name == "slow-releases") {
    settings.has_slow_releases = true;
  } else if (name == "late-events") {
    settings.has_late_events = true;
  } else if (name == "dma-buf") {
    settings.takes_dma_bufs = true;
  } else {
    refuse(word);
  }
}

// Tells a file from the one that had its name before. A number alone is given to another file at once.
struct FileVersion {
  ino_t number = 0;
  off_t size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;

  static FileVersion of(const std::string& file) {
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0) return {};
    return {about.st_ino, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec};
  }
  bool operator==(const FileVersion&) const = default;
};

// The words of the environment or of the file that it names, and what has been counted.
class Control {
 public:
  Control() {
    const char* const value = std::getenv("REMOTECL_FAKE_DRIVER");
    const std::string words = value == nullptr ? kDefaultSettings : value;
    if (words.starts_with('@')) file_ = words.substr(1);
    const MutexLock lock(mutex_);
    first_ = current_ = file_.empty() ? parse(words) : read();
  }

  const Settings& first() const { return first_; }

  std::chrono::nanoseconds kernel_time(std::size_t items) {
    const MutexLock lock(mutex_);
    refresh();
    return current_.kernel_time + current_.item_time * static_cast<std::int64_t>(items);
  }

  template <class T>
  T now(T Settings::*setting) {
    const MutexLock lock(mutex_);
    refresh();
    return current_.*setting;
  }

  std::optional<cl_int> fault(std::string_view function) {
    if (file_.empty() && first_.faults.empty()) return std::nullopt;
    const MutexLock lock(mutex_);
    refresh();
    const std::uint64_t call = ++calls_[std::string(function)];
    for (const Fault& fault : current_.faults) {
      if (fault.function == function && (fault.call == 0 || fault.call == call)) return fault.error;
    }
    return std::nullopt;
  }

 private:
  Settings read() REQUIRES(mutex_) {
    version_ = FileVersion::of(file_);
    if (version_ == FileVersion{}) throw std::runtime_error("REMOTECL_FAKE_DRIVER: cannot read " + file_);
    std::ostringstream words;
    words << std::ifstream(file_).rdbuf();
    std::string text = words.str();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return parse(text);
  }

  // The file is replaced, not written to, so that no half of it is read. Calls count from 1 again: a test can say "the
  // next one".
  void refresh() REQUIRES(mutex_) {
    if (file_.empty()) return;
    const FileVersion version = FileVersion::of(file_);
    if (version == version_ || version == FileVersion{}) return;
    current_ = read();
    calls_.clear();
  }

  std::string file_;
  Settings first_;
  Mutex mutex_;
  FileVersion version_ GUARDED_BY(mutex_);
  Settings current_ GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t> calls_ GUARDED_BY(mutex_);
};

// Never destroyed: threads of the driver use it until the process has ended.
Control& control() {
  static Control& instance = *[]() -> Control* {
    try {
      return new Control;
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(2);
    }
  }();
  return instance;
}

}  // namespace

Settings parse(std::string_view words) {
  Settings settings;
  settings.platforms.clear();
  do {
    settings.platforms.emplace_back();
    for (std::string_view platform = next(words, ';'); !platform.empty();) {
      if (const std::string_view word = next(platform, ','); !word.empty()) parse_word(word, settings);
    }
  } while (!words.empty());
  return settings;
}

const Settings& settings() { return control().first(); }
std::uint64_t allocation_max() { return settings().memory / 16 * 3; }
std::chrono::nanoseconds kernel_time(std::size_t items) { return control().kernel_time(items); }
std::chrono::microseconds callback_time() { return control().now(&Settings::callback_time); }
bool chains_failures() { return control().now(&Settings::chains_failures); }
cl_int failed_wait_status() { return control().now(&Settings::failed_wait_status); }
std::uint64_t builds_at_once() { return control().now(&Settings::builds_at_once); }
std::optional<cl_int> fault(std::string_view function) { return control().fault(function); }

}  // namespace remotecl::fake
