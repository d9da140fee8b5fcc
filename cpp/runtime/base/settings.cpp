#include "runtime/base/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <system_error>

#include "runtime/base/mutex.h"
#include "runtime/base/printable.h"

namespace remotecl::settings {
namespace {

// Must match python/remotecl/_loading/settings.py.
constexpr std::string_view kOn[] = {"1", "on", "yes", "true"};
constexpr std::string_view kOff[] = {"0", "off", "no", "false"};
constexpr std::size_t kShownMax = 60;  // characters of a value

struct ShownLines {
  Mutex mutex;
  std::set<std::string> lines GUARDED_BY(mutex);
};
ShownLines& shown_lines() {
  static ShownLines& shown_lines = *new ShownLines;  // never destroyed: threads may outlive static objects
  return shown_lines;
}

std::string_view value_of(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool is_same_word(std::string_view value, std::string_view word) {
  const auto same = [](char one, char other) { return (one >= 'A' && one <= 'Z' ? one - 'A' + 'a' : one) == other; };
  return std::equal(value.begin(), value.end(), word.begin(), word.end(), same);
}

template <std::size_t N>
bool is_one_of(std::string_view value, const std::string_view (&words)[N]) {
  return std::any_of(std::begin(words), std::end(words),
                     [value](std::string_view word) { return is_same_word(value, word); });
}

void report_on_stderr(const std::string& line) {
  if (!is_one_of(value_of("REMOTECL_LOG"), kOff)) std::fprintf(stderr, "remotecl: %s\n", line.c_str());
}
Reporter g_reporter = report_on_stderr;

void report_once(const char* name, std::string_view value, const std::string& takes) {
  const bool is_long = value.size() > kShownMax;
  const std::string line = std::string(name) + "=" + printable(value.substr(0, kShownMax)) + (is_long ? "..." : "") +
                           " means nothing and is ignored; it takes " + takes;
  {
    MutexLock lock(shown_lines().mutex);
    if (!shown_lines().lines.insert(line).second) return;
  }
  g_reporter(line);
}

// Accepts no leading blanks or signs, and a decimal point whatever the program's locale is.
template <class Number>
std::optional<Number> parse(std::string_view value, Number least, Number most) {
  Number result{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size()) return {};
  // Written so that NaN is out of bounds.
  return result >= least && result <= most ? std::optional(result) : std::nullopt;
}

template <class Number>
std::optional<Number> within(const char* name, std::string_view unit, Number least, Number most,
                             const std::string& bounds) {
  const std::string_view value = value_of(name);
  if (value.empty()) return {};
  if (least == 0 && is_one_of(value, kOff)) return Number{0};
  const auto result = parse<Number>(value, least, most);
  if (!result) report_once(name, value, std::string(unit) + ", " + bounds + (least == 0 ? ", or off" : ""));
  return result;
}

}  // namespace

std::optional<bool> on_or_off(const char* name) {
  const std::string_view value = value_of(name);
  if (value.empty()) return {};
  if (is_one_of(value, kOn)) return true;
  if (is_one_of(value, kOff)) return false;
  report_once(name, value, "on or off");
  return {};
}

std::optional<std::uint64_t> number(const char* name, std::string_view unit, std::uint64_t least, std::uint64_t most) {
  return within(name, unit, least, most, std::to_string(least) + " to " + std::to_string(most));
}

std::optional<double> seconds(const char* name, double least, double most) {
  return within(name, "seconds", least, most,
                std::to_string(std::llround(least)) + " to " + std::to_string(std::llround(most)));
}

bool is_set_to(const char* name, std::string_view word) {
  const std::string_view value = value_of(name);
  if (value.empty() || is_one_of(value, kOff)) return false;
  if (is_same_word(value, word)) return true;
  report_once(name, value, std::string(word) + " or off");
  return false;
}

std::optional<std::size_t> one_of(const char* name, std::initializer_list<std::string_view> words) {
  const std::string_view value = value_of(name);
  if (value.empty()) return {};
  std::string takes;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_same_word(value, words.begin()[i])) return i;
    takes += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words.begin()[i]);
  }
  report_once(name, value, takes);
  return {};
}

void report_through(Reporter reporter) { g_reporter = reporter; }

}  // namespace remotecl::settings
