#pragma once

#include <string>

#include "runtime/base/bytes.h"

namespace remotecl {

// Writes what kernels print to this process's standard output. On a terminal, control characters other than
// line feeds and tabs are shown as escape sequences, because neither the server nor its other users may
// control this terminal. Files and pipes get the text unchanged. Owned by a session; used by its reader.
class KernelText {
 public:
  void write(Bytes text);

  // The text for a terminal. The first half of a two-byte character waits for the second one.
  std::string for_terminal(Bytes text);

 private:
  bool is_half_ = false;  // of a possible control character
};

}  // namespace remotecl
