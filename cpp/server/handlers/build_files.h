#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/arguments/argument_provider.h"
#include "server/program/program.h"
#include "server/program/program_files.h"

namespace remotecl::server {

// The files of one build: those that the client has sent and, if the program includes it, the header of the
// ArgumentProvider. It is a header like any other, so what identifies a build includes
// its text. Where a text names a file by its absolute path, the text that is compiled has a name below the folder "/"
// of these files. Refers to the message and to the programs.
class BuildFiles {
 public:
  // `parts`: the programs whose text is compiled. `provided`: a header of the server's.
  BuildFiles(const ClientFiles& sent, const std::vector<const Program*>& parts,
             const ArgumentProvider::Header& provided);
  BuildFiles(const BuildFiles&) = delete;
  BuildFiles& operator=(const BuildFiles&) = delete;

  const ClientFiles& all() const { return all_; }
  // Why the build may not run; empty if it may.
  const std::string& refusal() const { return refusal_; }
  // What is compiled in place of a part's source; nullopt: the source itself.
  const std::optional<std::string>& source(std::size_t part) const { return sources_[part]; }

 private:
  void add_provided(const std::vector<std::string_view>& sources, const ArgumentProvider::Header& provided);
  void rewrite(const std::vector<std::string_view>& sources);

  std::vector<IncludeFolder> folders_;
  std::vector<HeaderFile> headers_;
  std::string provided_path_;
  std::vector<std::string> contents_;  // of headers that are rewritten
  std::vector<std::optional<std::string>> sources_;
  std::string refusal_;
  ClientFiles all_;
};

}  // namespace remotecl::server
