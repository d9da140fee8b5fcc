#pragma once

#include <string>
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
  std::vector<File> files;           // every file that an #include may reach, once
};

// Splits `options`, and follows the #include lines of `source` and of the files that it includes. It finds
// all of them that exist; the preprocessor on the server decides which it uses, and the compiler reports a
// missing one. Throws std::invalid_argument for a -I without a folder.
IncludeFiles find_include_files(const std::string& source, const std::string& options);

}  // namespace remotecl
