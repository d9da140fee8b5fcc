#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace remotecl::plugins {

// The name of a source or sink, as a kernel gets it: SCHEME:PLACE[?KEY=VALUE&...]. A value.
class StreamName {
 public:
  // `text` ends at its first zero, if it has one. Throws PluginError.
  explicit StreamName(std::string_view text);

  const std::string& text() const { return text_; }
  const std::string& scheme() const { return scheme_; }
  const std::string& place() const { return place_; }

  // The value of a key, or `otherwise` if it is not given. Each throws PluginError for an invalid value.
  std::string word(const std::string& key, const std::string& otherwise) const;
  std::uint64_t number(const std::string& key, std::uint64_t otherwise, std::uint64_t least, std::uint64_t most) const;
  bool is_on(const std::string& key) const { return number(key, 0, 0, 1) != 0; }
  // Frames a second; 0: as fast as they are read.
  double rate() const;
  bool wants_newest() const;
  // How long a read waits for a frame.
  std::chrono::milliseconds patience() const { return std::chrono::milliseconds(number("wait", 5000, 0, 3'600'000)); }
  // Throws PluginError if there are other keys.
  void allow_keys(std::initializer_list<std::string_view> keys) const;

 private:
  std::string text_, scheme_, place_;
  std::map<std::string, std::string> values_;
};

}  // namespace remotecl::plugins
