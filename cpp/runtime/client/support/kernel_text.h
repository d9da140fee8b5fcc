#pragma once

#include <string>

#include "runtime/base/bytes.h"

namespace remotecl {

// What kernels print, on its way to this process's standard output. On a terminal nothing but line feeds and tabs
// controls that: other control characters are shown as escape sequences, as neither the server nor who else uses it has
// any business with this terminal. Into a file or a pipe it goes as it is. Owned by a session; its reader's.
class KernelText {
 public:
  void write(Bytes text);

  // What a terminal gets for it. The first half of a character of two bytes waits for the other one.
  std::string for_terminal(Bytes text);

 private:
  bool is_half_ = false;  // of what may be a control character
};

}  // namespace remotecl
