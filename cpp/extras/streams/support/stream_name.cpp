#include "extras/streams/support/stream_name.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {
namespace {

constexpr std::size_t kSizeMax = 4096;

}  // namespace

StreamName::StreamName(std::string_view text) {
  text_ = text.substr(0, std::min(text.find('\0'), kSizeMax));
  const std::size_t colon = text_.find(':');
  if (colon == std::string::npos) {
    throw PluginError(kWrongName, "\"" + text_ + "\" names no stream: write SCHEME:PLACE, like file:/data/clip.bin");
  }
  scheme_ = text_.substr(0, colon);
  // A question mark within a URL stays part of the address.
  const bool is_url = text_.compare(colon, 3, "://") == 0;
  const std::size_t question = is_url ? std::string::npos : text_.find('?', colon);
  place_ = text_.substr(colon + 1, question == std::string::npos ? question : question - colon - 1);
  for (std::size_t at = question; at != std::string::npos && at + 1 < text_.size();) {
    const std::size_t end = text_.find('&', at + 1);
    const std::string part = text_.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      throw PluginError(kWrongName, "\"" + part + "\" of a stream's name is no KEY=VALUE");
    values_[part.substr(0, equals)] = part.substr(equals + 1);
    at = end;
  }
}

std::string StreamName::word(const std::string& key, const std::string& otherwise) const {
  const auto at = values_.find(key);
  return at == values_.end() ? otherwise : at->second;
}

std::uint64_t StreamName::number(const std::string& key, std::uint64_t otherwise, std::uint64_t least,
                                 std::uint64_t most) const {
  const auto at = values_.find(key);
  if (at == values_.end()) return otherwise;
  std::uint64_t value = 0;
  const char* const end = at->second.data() + at->second.size();
  const auto [stop, error] = std::from_chars(at->second.data(), end, value);
  if (error != std::errc{} || stop != end || value < least || value > most) {
    throw PluginError(kWrongName, key + "=" + at->second + " of a stream's name: write a number from " +
                                      std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

double StreamName::rate() const {
  const std::string text = word("rate", "0");
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !std::isfinite(value) || value < 0 || value > 1e6) {
    throw PluginError(kWrongName, "rate=" + text + " of a stream's name: write frames per second");
  }
  return value;
}

bool StreamName::wants_newest() const {
  const std::string policy = word("policy", "all");
  if (policy == "newest") return true;
  if (policy != "all") throw PluginError(kWrongName, "policy=" + policy + " of a stream's name: write newest or all");
  return false;
}

void StreamName::allow_keys(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : values_) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw PluginError(kWrongName, "a stream of " + scheme_ + ": takes no " + key + "=");
    }
  }
}

}  // namespace remotecl::plugins
