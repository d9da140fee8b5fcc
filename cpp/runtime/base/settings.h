#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

// The REMOTECL_... environment variables. An empty variable counts as not set. So does one with an invalid
// value, which is reported to the user once. Case does not matter. Any thread.
namespace remotecl::settings {

// 1, on, yes, true; 0, off, no, false. Empty if not set.
std::optional<bool> on_or_off(const char* name);
// A whole number of `unit` within bounds. If 0 is within them, the words for off mean 0.
std::optional<std::uint64_t> number(const char* name, std::string_view unit, std::uint64_t least, std::uint64_t most);
// Seconds, which may have a fraction.
std::optional<double> seconds(const char* name, double least, double most);
// Whether the variable is set to this word. It may also be set to off.
bool is_set_to(const char* name, std::string_view word);
// Which of these words the variable is set to. Empty if not set.
std::optional<std::size_t> one_of(const char* name, std::initializer_list<std::string_view> words);

// Sets the function that reports to the user, one line at a time. The default prints to stderr, unless
// REMOTECL_LOG is off. Must be called before any other thread runs.
using Reporter = void (*)(const std::string& line);
void report_through(Reporter reporter);

}  // namespace remotecl::settings
