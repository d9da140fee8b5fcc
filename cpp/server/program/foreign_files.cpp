#include "server/program/foreign_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "server/util/format.h"

namespace remotecl::server {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Drivers split their options differently: some handle quotes, others split at every blank.
std::vector<std::string> split(std::string_view options, bool knows_quotes) {
  std::vector<std::string> words;
  bool is_inside = false;
  char quote = 0;
  for (const char c : options) {
    if (quote == 0 && is_blank(c)) {
      is_inside = false;
      continue;
    }
    if (!is_inside) words.emplace_back();
    is_inside = true;
    const bool is_quote = c == '"' || c == '\'';
    if (!is_quote && c != '\\') words.back() += c;
    if (!knows_quotes || !is_quote) continue;
    if (quote == 0) {
      quote = c;
    } else if (quote == c) {
      quote = 0;
    }
  }
  return words;
}

// Options of clang, on which nearly all native compilers are based: files that it reads or writes, code that
// it loads, and options for its parts, which have their own ways to name files.
constexpr std::array kFileOptions = std::to_array<std::string_view>(
    {"-I",         "-i",        "-F",           "-B",         "-L",          "-T",         "-X",
     "-o",         "-MF",       "-MD",          "-MMD",       "-MJ",         "-Wp,",       "-Wl,",
     "-Wa,",       "-mllvm",    "-load",        "-plugin",    "-add-plugin", "-fplugin",   "-fpass-plugin",
     "-fmodule",   "-fprofile", "-save-temps",  "-dump",      "-fdump",      "-specs",     "-resource-dir",
     "-working-d", "-sysroot",  "-serialize-d", "-embed-dir", "-config",     "-vfsoverlay"});

bool names_files(std::string_view word) {
  if (word.starts_with("--")) word.remove_prefix(1);
  if (word.starts_with('@')) return true;
  return std::any_of(kFileOptions.begin(), kFileOptions.end(),
                     [word](std::string_view option) { return word.starts_with(option); });
}

bool defines(std::string_view word) { return word.starts_with("-D") || word.starts_with("-U"); }

}  // namespace

std::string foreign_option(std::string_view options) {
  const auto words = split(options, true);
  auto bad = std::find_if(words.begin(), words.end(), names_files);
  for (std::size_t i = 0; i < words.size() && bad == words.end(); ++i) {
    const bool is_value = i != 0 && (words[i - 1] == "-D" || words[i - 1] == "-U");
    if (!is_value && !defines(words[i]) && words[i].find('/') != std::string::npos) {
      bad = words.begin() + static_cast<std::ptrdiff_t>(i);
    }
  }
  std::string found = bad == words.end() ? "" : *bad;
  if (found.empty()) {
    const auto pieces = split(options, false);
    const auto piece = std::find_if(pieces.begin(), pieces.end(), names_files);
    if (piece != pieces.end()) found = *piece;
  }
  if (found.empty()) return {};
  return format_text(
      "remotecl: the build option \"{}\" is refused: it names files of the server's machine, or code to load there. "
      "Include files with -I FOLDER and #include: the client sends them; take other such options out",
      found.substr(0, 200));
}

}  // namespace remotecl::server
