#include "extras/streams/host/confinement.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "extras/streams/instance/ruled_files.h"
#include "runtime/containment/device_files.h"
#include "runtime/containment/file_rules.h"
#include "runtime/containment/library_paths.h"
#include "runtime/containment/process_limits.h"
#include "runtime/containment/process_user.h"
#include "runtime/containment/system_call_filter.h"

namespace remotecl::plugins {
namespace {

using Access = FileRules::Access;

constexpr rlim_t kMemoryMax = rlim_t{4} << 30;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;  // a sanitizer maps more than the machine has
#else
constexpr bool kIsSanitized = false;
#endif

// Libraries, and what they read of the system.
constexpr const char* kSystem[] = {"/usr",
                                   "/lib",
                                   "/lib32",
                                   "/lib64",
                                   "/opt",
                                   "/nix/store",
                                   "/gnu/store",
                                   "/etc/ld.so.cache",
                                   "/etc/ld.so.preload",
                                   "/etc/alternatives",
                                   "/etc/localtime",
                                   "/etc/nvidia",
                                   "/sys/devices",
                                   "/sys/class",
                                   "/sys/dev",
                                   "/sys/bus",
                                   "/proc/self",
                                   "/proc/cpuinfo",
                                   "/proc/meminfo",
                                   "/proc/stat",
                                   "/proc/devices",
                                   "/proc/driver"};
// For looking up names, and for certificates.
constexpr const char* kNames[] = {"/etc/resolv.conf", "/etc/hosts",    "/etc/host.conf",       "/etc/nsswitch.conf",
                                  "/etc/gai.conf",    "/etc/services", "/run/systemd/resolve", "/run/NetworkManager",
                                  "/etc/ssl/certs",   "/etc/pki/tls",  "/etc/ssl/openssl.cnf", "/etc/ca-certificates"};
constexpr const char* kDevices[] = {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"};

constexpr std::uint16_t kPortOfNames = 53;
constexpr unsigned kPortsMax = 1024;  // of one rule, each of which costs memory of the kernel

std::string_view kind_of(std::string_view rule) { return rule.substr(0, rule.find(':')); }

// "PORT" or "PORT-PORT" at the end of a rule; false if there are no ports, or too many to name each.
bool read_ports(std::string_view text, unsigned& first, unsigned& last) {
  const std::size_t dash = text.find('-');
  const std::string_view from = text.substr(0, dash),
                         to = dash == std::string_view::npos ? from : text.substr(dash + 1);
  const auto is_number = [](std::string_view part, unsigned& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc{} && end == part.data() + part.size();
  };
  return is_number(from, first) && is_number(to, last) && first <= last && last <= 65535 && last - first < kPortsMax;
}

// Files and ports of one rule. Rules of kinds that only a plugin knows may name a file, too.
void add_rule(FileRules& files, const std::string& rule) {
  const std::string_view kind = kind_of(rule);
  const std::string path = path_of_rule(rule);
  unsigned first = 0, last = 0;
  if (kind == "connect") {
    const std::size_t colon = rule.rfind(':'), bracket = rule.rfind(']');
    const bool has_port = colon != rule.find(':') && (bracket == std::string::npos || colon > bracket);
    if (!has_port || !read_ports(std::string_view(rule).substr(colon + 1), first, last)) {
      return files.allow_all_connecting();
    }
    for (unsigned port = first; port <= last; ++port) files.allow_connecting(static_cast<std::uint16_t>(port));
    files.allow_connecting(kPortOfNames);
  } else if (kind == "listen") {
    if (!read_ports(std::string_view(rule).substr(kind.size() + 1), first, last)) return files.allow_all_listening();
    for (unsigned port = first; port <= last; ++port) files.allow_listening(static_cast<std::uint16_t>(port));
  } else if (kind == "url") {
    files.allow_all_connecting();
  } else if (!path.empty()) {
    const bool is_used = kind == "camera" || kind == "memory";
    files.allow(path, kind == "read" ? Access::kRead : is_used ? Access::kUse : Access::kEverything);
  }
}

bool is_of_network(const std::string& rule) {
  const std::string_view kind = kind_of(rule);
  return kind == "connect" || kind == "listen" || kind == "url";
}

// Root's process becomes somebody else's where nothing that belongs to somebody is to be opened, or where the operator
// says whose it shall be: files that a rule names may be root's, and those that are written would be nobody's.
std::string change_user(const Confinement& confinement, const std::vector<std::string>& libraries) {
  bool has_files = false;
  for (const std::string& rule : confinement.rules) has_files = has_files || !path_of_rule(rule).empty();
  if (::geteuid() != 0 || (has_files && confinement.user.empty())) return {};
  return become_process_user(confinement.user, "", libraries);
}

std::string restrict_files(const Confinement& confinement, const std::vector<std::string>& libraries,
                           bool has_network) {
  FileRules files;
  for (const char* const path : kSystem) files.allow(path, Access::kRead);
  for (const std::string& path : libraries) files.allow(path, Access::kRead);
  for (const char* const path : kDevices) files.allow(path, Access::kUse);
  for (const std::string& path : device_files()) files.allow(path, Access::kUse);
  if (has_network) {
    for (const char* const path : kNames) files.allow(path, Access::kRead);
  }
  for (const std::string& rule : confinement.rules) add_rule(files, rule);
  return files.apply();
}

}  // namespace

std::string confine(const Confinement& confinement) {
  std::string lacks;
  const auto add = [&lacks](const std::string& text) {
    if (!text.empty()) lacks += (lacks.empty() ? "" : "; ") + text;
  };
  bool has_network = false, has_camera = false;
  for (const std::string& rule : confinement.rules) {
    has_network = has_network || is_of_network(rule);
    has_camera = has_camera || kind_of(rule) == "camera";
  }
  std::vector<std::string> libraries;
  add_library(libraries, confinement.plugin);
  add_loader_paths(libraries);
  add(change_user(confinement, libraries));
  limit_process({.bounds_memory = false, .bounds_files = false, .is_only_one_of_user = has_user_of_its_own()});
  const rlimit memory{kMemoryMax, kMemoryMax};
  if (!kIsSanitized) ::setrlimit(RLIMIT_DATA, &memory);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const std::string no_rules = restrict_files(confinement, libraries, has_network);
  if (!no_rules.empty()) add("they can read and write what their user can: " + no_rules);
  CallRules calls{.filter = parse_call_filter(confinement.filter).value_or(CallFilter::kAllowList),
                  .makes_sockets = has_network,
                  .opens_below = true,
                  .controls_devices = has_camera || !device_files().empty()};
  CallReport report;
  if (calls.filter == CallFilter::kAudit) {
    report = [](const std::string& line) {
      const std::string text = "remotecl-plugin-host: " + line + "\n";
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    };
  }
  for (const std::string& text : filter_system_calls(calls, report)) add(text);
  return lacks;
}

}  // namespace remotecl::plugins
