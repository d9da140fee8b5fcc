#pragma once

#include <string>
#include <vector>

namespace remotecl {

// What a build needs from this machine's file system.
struct IncludeFiles {
  struct File {
    std::string path;  // absolute
    std::string content;
  };
  std::string options;               // the build options without -I
  std::vector<std::string> folders;  // absolute, in the order of the -I
  std::vector<File> files;           // every file that an #include may reach, each once
};

// Splits `options`, follows the #include lines of `source` and of what it includes. Which of them a preprocessor takes
// is decided on the server: all that exist are found, and a missing one is left for the compiler to report. Throws
// std::invalid_argument for a -I without a folder.
IncludeFiles find_include_files(const std::string& source, const std::string& options);

}  // namespace remotecl
