#include "runtime/client/program/include_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unordered_set>

#include "runtime/includes/directives.h"
#include "runtime/includes/include_names.h"
#include "runtime/includes/option_words.h"
#include "runtime/protocol/messages.h"

namespace remotecl {
namespace {

namespace fs = std::filesystem;

std::string absolute_path(const fs::path& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  return (error ? path : full).lexically_normal().string();
}

class Finder {
 public:
  Finder(IncludeFiles& found, const std::set<std::string>& programs) : found_(found), programs_(programs) {}

  void add(std::string_view text, const fs::path& folder) {
    names_.add(text);
    homes_.push_back(folder);
  }

  void find(std::string_view options) {
    names_.add_options(options);
    std::size_t seen = 0, macros = 0;
    // Each file may define macros that give earlier mentions further names.
    do {
      macros = names_.macros();
      for (std::size_t i = 0; i < names_.mentions().size(); ++i) {
        const IncludeMention mention = names_.mentions()[i];
        if (i < seen && IncludeNames::written_name(mention.operand)) continue;
        seen = std::max(seen, i + 1);
        bool is_complete = true;
        for (const IncludeName& name : names_.names_of(mention, is_complete)) look_for(name, mention);
      }
    } while (names_.macros() != macros);
  }

 private:
  void look_for(const IncludeName& name, const IncludeMention& mention) {
    if (programs_.contains(name.name)) return;
    const bool takes_all = mention.directive.ends_with("_next");  // only the compiler knows which one is the next
    const fs::path path(name.name);
    if (name.is_quoted || path.is_absolute()) {
      if (take(homes_[mention.source] / path) && !takes_all) return;
    }
    for (const std::string& folder : found_.folders) {
      if (take(folder / path) && !takes_all) return;
    }
  }

  bool take(const fs::path& candidate) {
    const std::string path = absolute_path(candidate);
    if (seen_.contains(path)) return true;
    std::error_code error;
    if (size_ > kProgramSizeMax || !fs::is_regular_file(path, error)) return false;
    std::ifstream file(path, std::ios::binary);
    if (!file) return false;
    // What cannot be sent in any case is not read to its end.
    std::string content(std::min<std::uintmax_t>(fs::file_size(path, error), kProgramSizeMax + 1), '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(file.gcount()));
    size_ += content.size();
    seen_.insert(path);
    found_.files.push_back({path, std::move(content)});
    if (size_ <= kProgramSizeMax) add(found_.files.back().content, fs::path(path).parent_path());
    return true;
  }

  IncludeFiles& found_;
  const std::set<std::string>& programs_;
  IncludeNames names_;
  std::vector<fs::path> homes_;  // for each text, the folder that it is in
  std::unordered_set<std::string> seen_;
  std::size_t size_ = 0;
};

}  // namespace

IncludeFiles find_include_files(const std::vector<std::string_view>& sources, const std::string& options,
                                const std::set<std::string>& programs) {
  IncludeFiles result;
  const std::vector<OptionWord> words = option_words(options);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const OptionWord& word = words[i];
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
  if (std::any_of(sources.begin(), sources.end(), may_name_files)) {
    Finder finder(result, programs);
    for (const std::string_view source : sources) finder.add(source, error ? fs::path("/") : working_folder);
    finder.find(result.options);
  }
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
