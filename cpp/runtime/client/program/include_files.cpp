#include "runtime/client/program/include_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

namespace remotecl {
namespace {

namespace fs = std::filesystem;

struct Option {
  std::string_view raw;  // as written
  std::string text;      // without quotes
};

// Splits at blanks outside of quotes, as native compilers do.
std::vector<Option> split(std::string_view options) {
  std::vector<Option> result;
  std::size_t at = 0;
  while (at < options.size()) {
    if (std::isspace(static_cast<unsigned char>(options[at])) != 0) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    std::string text;
    char quote = 0;
    for (; at < options.size(); ++at) {
      const char c = options[at];
      if (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) break;
      if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (c == quote) {
        quote = 0;
      } else if (c == '\\' && at + 1 < options.size() && (options[at + 1] == ' ' || options[at + 1] == '"')) {
        text += options[++at];
      } else {
        text += c;
      }
    }
    result.push_back({options.substr(begin, at - begin), std::move(text)});
  }
  return result;
}

std::string absolute_path(const fs::path& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  return (error ? path : full).lexically_normal().string();
}

class Finder {
 public:
  explicit Finder(std::vector<std::string>& folders, std::vector<IncludeFiles::File>& files)
      : folders_(folders), files_(files) {}

  void follow(std::string_view source, const fs::path& own_folder) {
    std::size_t at = 0;
    while (at < source.size()) {
      const std::size_t end = std::min(source.find('\n', at), source.size());
      line(source.substr(at, end - at), own_folder);
      at = end + 1;
    }
  }

 private:
  void line(std::string_view text, const fs::path& own_folder) {
    const auto skip = [&text] {
      const std::size_t begin = text.find_first_not_of(" \t");
      text.remove_prefix(begin == std::string_view::npos ? text.size() : begin);
    };
    skip();
    if (!text.starts_with('#')) return;
    text.remove_prefix(1);
    skip();
    if (!text.starts_with("include")) return;
    text.remove_prefix(7);
    skip();
    if (text.empty() || (text[0] != '"' && text[0] != '<')) return;
    const std::size_t end = text.find(text[0] == '"' ? '"' : '>', 1);
    if (end == std::string_view::npos) return;
    const fs::path name(text.substr(1, end - 1));
    if (text[0] == '"' && take(own_folder / name)) return;
    for (const std::string& folder : folders_) {
      if (take(fs::path(folder) / name)) return;
    }
  }

  bool take(const fs::path& candidate) {
    const std::string path = absolute_path(candidate);
    if (seen_.contains(path)) return true;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return false;
    std::ifstream file(path, std::ios::binary);
    if (!file) return false;
    seen_.insert(path);
    std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    files_.push_back({path, content});
    follow(content, fs::path(path).parent_path());
    return true;
  }

  std::vector<std::string>& folders_;
  std::vector<IncludeFiles::File>& files_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

IncludeFiles find_include_files(const std::string& source, const std::string& options) {
  IncludeFiles result;
  const std::vector<Option> words = split(options);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Option& word = words[i];
    if (word.text.starts_with("-I")) {
      std::string folder = word.text.substr(2);
      if (folder.empty()) {
        if (++i == words.size()) throw std::invalid_argument("-I without a folder");
        folder = words[i].text;
      }
      result.folders.push_back(absolute_path(folder));
      continue;
    }
    if (!result.options.empty()) result.options += ' ';
    result.options += word.raw;
  }
  std::error_code error;
  const fs::path working_folder = fs::current_path(error);
  Finder(result.folders, result.files).follow(source, error ? fs::path("/") : working_folder);
  // The server would make them for each build, and two machines' or environments' equal programs would differ.
  if (result.files.empty()) result.folders.clear();
  // A source has no file of its own, so it finds "x.h" in the program's working folder, as with a local
  // compiler.
  for (const IncludeFiles::File& file : result.files) {
    if (!error && file.path.starts_with(working_folder.string() + "/")) {
      result.folders.push_back(working_folder.string());
      break;
    }
  }
  return result;
}

}  // namespace remotecl
