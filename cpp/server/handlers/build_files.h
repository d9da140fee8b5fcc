#pragma once

#include <vector>

#include "server/program/program.h"
#include "server/program/program_files.h"

namespace remotecl::server {

// The files of one build: those that the client has sent and, if the program includes it, the library that the server
// provides under the name remotecl/net.cl. It is a header like any other, so what identifies a build includes
// its text. Refers to the message.
class BuildFiles {
 public:
  // `parts`: the programs whose text is compiled.
  BuildFiles(const ClientFiles& sent, const std::vector<const Program*>& parts);
  BuildFiles(const BuildFiles&) = delete;
  BuildFiles& operator=(const BuildFiles&) = delete;

  const ClientFiles& all() const { return all_; }

 private:
  std::vector<IncludeFolder> folders_;
  std::vector<HeaderFile> headers_;
  ClientFiles all_;
};

}  // namespace remotecl::server
