#include "server/admission/limits.h"

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string_view>

namespace remotecl::server {
namespace {

constexpr std::string_view kKnownKeys =
    "device-memory, host-memory, queued-commands, bandwidth, command-seconds, devices, kernel-connect, kernel-bind, "
    "kernel-sockets, kernel-bandwidth, kernel-threads; for users also sessions, weight, exclusive, operator and "
    "token-file";

std::string position_of(const toml::source_region& source) {
  const std::string path = source.path == nullptr ? "--limit" : *source.path;
  return path.starts_with("--limit") ? path : path + ":" + std::to_string(source.begin.line);
}

LimitsError wrong(const toml::source_region& source, const std::string& words) {
  return LimitsError(position_of(source) + ": " + words);
}

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array kUnits = {Unit{"", 1},         Unit{"B", 1},        Unit{"kB", 1e3},    Unit{"KB", 1e3},
                               Unit{"MB", 1e6},     Unit{"GB", 1e9},     Unit{"TB", 1e12},   Unit{"KiB", 0x1p10},
                               Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  while (unit.ends_with(' ')) unit.remove_suffix(1);
  const auto known = std::find_if(kUnits.begin(), kUnits.end(), [unit](const Unit& each) { return each.name == unit; });
  if (known == kUnits.end()) return std::nullopt;
  const double bytes = std::round(number * known->bytes);
  if (!(bytes >= 1 && bytes <= 0x1p62)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

namespace {

// Reads one section into Limits; each key is read once.
class Section {
 public:
  Section(const toml::table& table, std::string name) : table_(table), name_(std::move(name)) {}

  Limits read(bool is_of_user) {
    Limits limits;
    for (const auto& [key, value] : table_) {
      const std::string_view name = key.str();
      if (name == "device-memory") {
        limits.device_memory = size(name, value, "");
      } else if (name == "host-memory") {
        limits.host_memory = size(name, value, "");
      } else if (name == "queued-commands") {
        limits.queued_commands = count(name, value);
      } else if (name == "bandwidth") {
        limits.bandwidth = size(name, value, "/s");
      } else if (name == "command-seconds") {
        limits.command_seconds = count(name, value);
      } else if (name == "devices") {
        limits.devices = indices(name, value);
      } else if (name == "kernel-sockets") {
        limits.kernel_sockets = count(name, value);
      } else if (name == "kernel-bandwidth") {
        limits.kernel_bandwidth = size(name, value, "/s");
      } else if (name == "kernel-threads") {
        limits.kernel_threads = count(name, value);
      } else if (name == "kernel-connect") {
        limits.kernel_connect = rules(name, value, SocketRules::For::kConnect);
      } else if (name == "kernel-bind") {
        limits.kernel_bind = rules(name, value, SocketRules::For::kBind);
      } else if (is_of_user && name == "sessions") {
        limits.sessions = count(name, value);
      } else if (is_of_user && name == "weight") {
        limits.weight = weight(name, value);
      } else if (is_of_user && name == "exclusive") {
        limits.exclusive = yes_or_no(name, value);
      } else if (is_of_user && name == "operator") {
        limits.is_operator = yes_or_no(name, value);
      } else if (!is_of_user || name != "token-file") {
        throw wrong(key.source(),
                    "[" + name_ + "] has no key " + std::string(name) + "; there are " + std::string(kKnownKeys));
      }
    }
    return limits;
  }

  LimitsError mismatch(std::string_view key, const toml::node& value, const std::string& wanted) const {
    return wrong(value.source(), std::string(key) + " of [" + name_ + "] must be " + wanted);
  }

 private:
  // `per`: what follows the unit, such as "/s".
  std::uint64_t size(std::string_view key, const toml::node& value, std::string_view per) const {
    const std::string example = per.empty() ? "\"8 GiB\"" : "\"200 MB/s\"";
    std::optional<std::uint64_t> size;
    if (const auto* number = value.as_integer(); number != nullptr && number->get() > 0) {
      size = static_cast<std::uint64_t>(number->get());
    } else if (const auto* text = value.as_string()) {
      std::string_view rest = text->get();
      if (rest.ends_with(per)) {
        rest.remove_suffix(per.size());
        size = parse_size(rest);
      }
    }
    if (!size) {
      throw mismatch(key, value,
                     "a number of bytes" + std::string(per.empty() ? "" : " per second") + ", or a text like " +
                         example + " (kB, MB, GB, TB, KiB, MiB, GiB or TiB)");
    }
    return *size;
  }

  std::uint64_t count(std::string_view key, const toml::node& value) const {
    const auto* number = value.as_integer();
    if (number == nullptr || number->get() < 1) throw mismatch(key, value, "a whole number from 1 on");
    return static_cast<std::uint64_t>(number->get());
  }

  bool yes_or_no(std::string_view key, const toml::node& value) const {
    if (!value.is_boolean()) throw mismatch(key, value, "true or false");
    return value.as_boolean()->get();
  }

  double weight(std::string_view key, const toml::node& value) const {
    const auto number = value.value<double>();
    if (!number || !(*number >= 0.01 && *number <= 1000)) throw mismatch(key, value, "a number from 0.01 to 1000");
    return *number;
  }

  std::vector<std::uint32_t> indices(std::string_view key, const toml::node& value) const {
    std::vector<std::uint32_t> indices;
    const auto* array = value.as_array();
    bool is_right = array != nullptr && !array->empty();
    for (std::size_t i = 0; is_right && i < array->size(); ++i) {
      const auto* number = array->get(i)->as_integer();
      is_right = number != nullptr && number->get() >= 0 && number->get() <= 0xFFFF;
      if (is_right) indices.push_back(static_cast<std::uint32_t>(number->get()));
    }
    if (!is_right) {
      throw mismatch(key, value, "a list of the numbers that the server prints when it begins, like [0, 2]");
    }
    return indices;
  }

  SocketRules rules(std::string_view key, const toml::node& value, SocketRules::For use) const {
    const auto* array = value.as_array();
    std::vector<std::string> texts;
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
      if (const auto* text = array->get(i)->as_string()) texts.push_back(text->get());
    }
    if (array == nullptr || texts.size() != array->size()) {
      throw mismatch(key, value, "a list of texts, like [\"10.0.0.0/8:1024-65535\", \"unix:/run/x.sock\"]");
    }
    try {
      return SocketRules(use, texts);
    } catch (const std::invalid_argument& error) {
      throw wrong(value.source(), std::string(key) + " of [" + name_ + "]: " + error.what());
    }
  }

  const toml::table& table_;
  const std::string name_;
};

toml::table parse(const std::string& text, const std::string& origin) {
  try {
    return toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    throw wrong(error.source(), "this is not TOML: " + std::string(error.description()));
  }
}

toml::table parse_file(const std::string& file) {
  if (file.empty()) return {};
  try {
    return toml::parse_file(file);
  } catch (const toml::parse_error& error) {
    if (error.source().begin.line == 0) {
      throw LimitsError("cannot read the limits in " + file + "; is the file there, and may the server read it?");
    }
    throw wrong(error.source(), "this is not TOML: " + std::string(error.description()));
  }
}

// Parses "SECTION.KEY=VALUE" as TOML, except that texts need no quotes.
toml::table parse_setting(const std::string& setting) {
  const std::string origin = "--limit " + setting;
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || setting.find('.') > equals) {
    throw LimitsError(origin + ": write SECTION.KEY=VALUE, like session.device-memory=8GiB or default.sessions=4");
  }
  const std::string key = setting.substr(0, equals), value = setting.substr(equals + 1);
  const bool is_toml = !value.empty() && std::string_view("[\"'").find(value[0]) != std::string_view::npos;
  const bool is_number = !value.empty() && value.find_first_not_of("0123456789.") == std::string::npos;
  const bool is_word = value == "true" || value == "false";
  return parse(key + " = " + (is_toml || is_number || is_word ? value : "\"" + value + "\""), origin);
}

// Values in `from` replace those in `to`. Moves them, because a copy loses its position in the file.
void merge(toml::table&& from, toml::table& to) {
  for (auto&& [key, value] : from) {
    toml::table* const known = to.get_as<toml::table>(key.str());
    if (known != nullptr && value.is_table()) {
      merge(std::move(*value.as_table()), *known);
    } else {
      value.visit([&, name = key](auto& concrete) { to.insert_or_assign(name, std::move(concrete)); });
    }
  }
}

const toml::table& table_of(const toml::node& node, const std::string& name) {
  if (!node.is_table()) throw wrong(node.source(), name + " must be a section: [" + name + "]");
  return *node.as_table();
}

NamedUser read_user(const std::string& name, const toml::table& table, const std::filesystem::path& folder) {
  Section section(table, "users." + name);
  Limits limits = section.read(true);
  const toml::node* const file = table.get("token-file");
  if (file == nullptr) {
    throw wrong(table.source(), "[users." + name + "] needs token-file, the file of the token that " + name +
                                    " is known by; remotecl keygen makes one");
  }
  if (!file->is_string()) throw section.mismatch("token-file", *file, "the name of a file");
  return {name, read_token((folder / file->as_string()->get()).string()), std::move(limits)};
}

}  // namespace

Limits Limits::or_else(const Limits& others) const {
  Limits all = *this;
  if (!all.device_memory) all.device_memory = others.device_memory;
  if (!all.host_memory) all.host_memory = others.host_memory;
  if (!all.sessions) all.sessions = others.sessions;
  if (!all.queued_commands) all.queued_commands = others.queued_commands;
  if (!all.bandwidth) all.bandwidth = others.bandwidth;
  if (!all.command_seconds) all.command_seconds = others.command_seconds;
  if (!all.kernel_sockets) all.kernel_sockets = others.kernel_sockets;
  if (!all.kernel_bandwidth) all.kernel_bandwidth = others.kernel_bandwidth;
  if (!all.kernel_threads) all.kernel_threads = others.kernel_threads;
  if (!all.kernel_connect) all.kernel_connect = others.kernel_connect;
  if (!all.kernel_bind) all.kernel_bind = others.kernel_bind;
  if (!all.devices) all.devices = others.devices;
  if (!all.weight) all.weight = others.weight;
  if (!all.exclusive) all.exclusive = others.exclusive;
  return all;
}

LimitsTable read_limits(const std::string& file, const std::vector<std::string>& settings) {
  toml::table all = parse_file(file);
  for (const std::string& setting : settings) merge(parse_setting(setting), all);
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  LimitsTable limits;
  for (const auto& [key, node] : all) {
    const std::string name(key.str());
    if (name == "session") {
      limits.session = Section(table_of(node, name), name).read(false);
    } else if (name == "default") {
      const toml::table& table = table_of(node, name);
      if (const toml::node* token = table.get("token-file")) {
        throw wrong(token->source(),
                    "[default] is for those who have no token of their own; --token-file names theirs");
      }
      limits.standard = Section(table, name).read(true);
      if (const toml::node* right = table.get("operator")) {
        throw wrong(right->source(), "[default] may not be operator: it is everybody who has no token of their own");
      }
    } else if (name == "users") {
      for (const auto& [user, section] : table_of(node, name)) {
        const std::string whose(user.str());
        limits.users.push_back(read_user(whose, table_of(section, "users." + whose), folder));
      }
    } else {
      throw wrong(key.source(), "there is no section [" + name + "]; there are [session], [default] and [users.NAME]");
    }
  }
  return limits;
}

}  // namespace remotecl::server
