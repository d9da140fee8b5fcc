#pragma once

#include <memory>
#include <string>

#include "runtime/base/bytes.h"

namespace remotecl {

// Writes what kernels print to this process's standard output. Whoever reads that may be slow, so the thread that reads
// the server, and others beside it, only adds the text; threads of the application write it, as if they printed
// themselves: those that wait for the server, and that of callbacks. On a terminal, control characters other than line
// feeds and tabs are shown as escape sequences, because neither the server nor its other users may control this
// terminal. Files and pipes get the text unchanged. Owned by a session; any thread.
class KernelText {
 public:
  KernelText();

  // Never waits. Beyond a bound, text is left out, and the output says how much.
  void add(Bytes text);
  // Returns when what was added before is written.
  void write();

  // The text for a terminal. The first half of a two-byte character waits for the second one.
  std::string for_terminal(Bytes text);

 private:
  struct Output;

  const std::shared_ptr<Output> output_;  // also the callback thread's
};

}  // namespace remotecl
