#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace remotecl {

// The files of this machine that a build needs.
struct IncludeFiles {
  struct File {
    std::string path;  // absolute
    std::string content;
  };
  std::string options;               // the build options without -I
  std::vector<std::string> folders;  // absolute, in the order of the -I options; none without files
  std::vector<File> files;           // every file that the sources may include or ask for, once
};

// Splits `options`, and finds the files that the sources name, and those that these files name, for all outcomes of
// conditionals and all values of macros. It finds all of them that exist; the preprocessor on the server decides which
// it uses, and the compiler reports a missing one. `programs`: names that stand for programs and not for files. Throws
// std::invalid_argument for a -I without a folder.
IncludeFiles find_include_files(const std::vector<std::string_view>& sources, const std::string& options,
                                const std::set<std::string>& programs = {});

}  // namespace remotecl
