#include "server/program/foreign_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "server/util/format.h"

namespace remotecl::server {
namespace fs = std::filesystem;
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

// Normalizes a source as most compilers do before they look for directives: replaces trigraphs, joins
// continued lines and removes comments.
std::string plain_text(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  enum { kCode, kString, kLineComment, kComment } state = kCode;
  char quote = 0;
  for (std::size_t at = 0; at < source.size(); ++at) {
    char c = source[at];
    if (source.substr(at).starts_with("\?\?=")) {
      c = '#';
      at += 2;
    } else if (c == '\\' || source.substr(at).starts_with("\?\?/")) {
      std::size_t end = at + (c == '\\' ? 1 : 3);
      while (end < source.size() && source[end] != '\n' && is_blank(source[end])) ++end;
      if (end < source.size() && source[end] == '\n') {
        at = end;
        continue;
      }
    }
    const char next = at + 1 < source.size() ? source[at + 1] : 0;
    if (state == kCode && c == '/' && next == '*') {
      state = kComment;
      ++at;
      text += ' ';
    } else if (state == kCode && c == '/' && next == '/') {
      state = kLineComment;
    } else if (state == kComment) {
      if (c == '*' && next == '/') {
        state = kCode;
        ++at;
      }
    } else if (c == '\n' || c == '\r') {
      if (state != kComment) state = kCode;
      text += '\n';
    } else if (state != kLineComment) {
      if (state == kString && c == '\\' && next != 0) {
        text += c;
        c = source[++at];
      } else if (state == kString && c == quote) {
        state = kCode;
      } else if (state == kCode && (c == '"' || c == '\'')) {
        state = kString;
        quote = c;
      }
      text += c;
    }
  }
  return text;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

// Returns what follows the name of a directive that includes a file; nothing for other lines.
std::optional<std::string_view> included_by(std::string_view line) {
  constexpr std::array<std::string_view, 5> kDirectives = {"include", "include_next", "__include_macros", "import",
                                                           "embed"};
  line = without_blanks(line);
  const std::size_t mark = line.starts_with("%:") ? 2 : line.starts_with('#') ? 1 : 0;
  if (mark == 0) return std::nullopt;
  line = without_blanks(line.substr(mark));
  const auto end = std::find_if_not(
      line.begin(), line.end(), [](char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)) != 0; });
  const std::string_view name(line.begin(), end);
  if (std::find(kDirectives.begin(), kDirectives.end(), name) == kDirectives.end()) return std::nullopt;
  return without_blanks(line.substr(name.size()));
}

// Resolves a path from a folder. Returns nothing if it leads above the client's root, which is a folder of
// the server here.
std::optional<fs::path> resolved(const fs::path& folder, const fs::path& name) {
  std::vector<fs::path> parts;
  for (const auto& part : folder.relative_path() / name) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  fs::path path = "/";
  for (const fs::path& part : parts) path /= part;
  return path;
}

// Returns true if the client has sent the file to which the name leads from one of its folders.
bool is_sent(const fs::path& name, const ClientFiles& files) {
  std::vector<fs::path> folders, headers;
  files.include_folders.for_each([&](const IncludeFolder& folder) { folders.emplace_back(folder.path); });
  files.headers.for_each([&](const HeaderFile& header) {
    headers.push_back(fs::path(header.path).lexically_normal());
    folders.push_back(headers.back().parent_path());
  });
  return std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
    const auto path = resolved(folder, name);
    return path && std::find(headers.begin(), headers.end(), *path) != headers.end();
  });
}

// Returns the reason for a refusal, or an empty text.
std::string objection(std::string_view operand, const ClientFiles& files) {
  const char end = operand.starts_with('"') ? '"' : operand.starts_with('<') ? '>' : 0;
  const std::size_t size = end == 0 ? std::string_view::npos : operand.find(end, 1);
  if (size == std::string_view::npos) return "does not say its file's name as \"NAME\" or <NAME>";
  const fs::path name(operand.substr(1, size - 1));
  if (name.is_absolute()) return "names a file by its absolute path, which would be one of the server's";
  const bool climbs = std::find(name.begin(), name.end(), "..") != name.end();
  return climbs && !is_sent(name, files) ? "leads to a file that the client has not sent" : "";
}

// Returns true if the operand names a file that the client has sent.
bool names_sent(std::string_view operand, const ClientFiles& files) {
  const char end = operand.starts_with('"') ? '"' : operand.starts_with('<') ? '>' : 0;
  const std::size_t size = end == 0 ? std::string_view::npos : operand.find(end, 1);
  return size != std::string_view::npos && is_sent(operand.substr(1, size - 1), files);
}

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

std::string foreign_include(std::string_view source, const ClientFiles& files) {
  const std::string text = plain_text(source);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const auto operand = included_by(line);
    const std::string why = operand ? objection(*operand, files) : "";
    if (why.empty()) continue;
    return format_text(
        "remotecl: \"{}\" is refused: it {}. Name the file by a path from a folder that -I names, or from the "
        "program's working folder: the client sends it then",
        without_blanks(line).substr(0, 200), why);
  }
  return {};
}

bool mentions_files(std::string_view options) {
  constexpr std::array<std::string_view, 3> kWords = {"include", "import", "embed"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [options](std::string_view word) { return options.find(word) != std::string_view::npos; });
}

bool includes_only_sent(std::string_view source, const ClientFiles& files) {
  if (!mentions_files(source)) return true;
  const std::string text = plain_text(source);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (!mentions_files(line)) continue;
    const auto operand = included_by(line);
    if (!operand || !names_sent(*operand, files)) return false;
  }
  return true;
}

}  // namespace remotecl::server
