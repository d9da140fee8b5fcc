#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace remotecl::server {

// One value of a text. Only format.cpp and log.cpp include the formatting library, because its headers take longer to
// compile than any of our files.
class FormatValue {
 public:
  FormatValue(std::string_view text) : value_(text) {}
  FormatValue(const std::string& text) : value_(std::string_view(text)) {}
  FormatValue(const char* text) : value_(std::string_view(text)) {}
  FormatValue(std::signed_integral auto number) : value_(std::int64_t{number}) {}
  FormatValue(std::unsigned_integral auto number) : value_(std::uint64_t{number}) {}
  FormatValue(double number) : value_(number) {}

  const auto& value() const { return value_; }

 private:
  std::variant<std::string_view, std::int64_t, std::uint64_t, double> value_;
};

// A literal with one {} for each value, as in std::format(). Any other number of them does not compile.
template <std::size_t kValues>
class FormatString {
 public:
  consteval FormatString(const char* text) : text_(text) {
    std::size_t found = 0;
    for (const char byte : text_) found += byte == '{' ? 1 : 0;
    if (found != kValues) throw "there is not one {} for each value";
  }

  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

std::string format_values(std::string_view format, std::initializer_list<FormatValue> values);

template <class... Values>
std::string format_text(FormatString<sizeof...(Values)> format, const Values&... values) {
  return format_values(format.text(), {FormatValue(values)...});
}

}  // namespace remotecl::server
