#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The variables REMOTECL_... of the environment. One that is empty counts as not set, and so does one whose value means
// nothing, of which the user is told once. Words are taken in any case. Any thread.
namespace remotecl::settings {

// 1, on, yes, true; 0, off, no, false. Empty: it is not set.
std::optional<bool> on_or_off(const char* name);
// A whole number of `unit` within bounds. Where 0 is one of them, the words for off are 0.
std::optional<std::uint64_t> number(const char* name, std::string_view unit, std::uint64_t least, std::uint64_t most);
// The same with a fraction: seconds.
std::optional<double> seconds(const char* name, double least, double most);
// Whether it is set to this word. It may be set to off.
bool is_set_to(const char* name, std::string_view word);

// Who tells the user, in one line; at first that is stderr, unless REMOTECL_LOG is off. Call it before any other thread
// runs.
using Teller = void (*)(const std::string& line);
void tell_through(Teller teller);

}  // namespace remotecl::settings
