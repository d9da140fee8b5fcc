#pragma once

#include <functional>

#include "server/driver/stdout_capture.h"
#include "server/execution/issuer.h"
#include "server/execution/strand.h"
#include "server/session/printing_patience.h"
#include "server/util/session_lock.h"
#include "server/util/worker.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// Runs a session's kernels that print, one at a time, and sends the client what they print. Output can be attributed to
// its kernel only while no other kernel prints.
class PrintfExecution {
 public:
  PrintfExecution(Strand& strand, Issuer& issuer, Outbox& outbox, StdoutCapture& output)
      : strand_(strand), issuer_(issuer), outbox_(outbox), output_(output) {}

  Issuer& issuer() { return issuer_; }
  // Runs a long command after everything that it waits for, while no other one prints.
  void start(Issue& issue, std::function<cl_int(Issue&)> command) REQUIRES(session_lock);
  // Waits for the running command.
  void stop() EXCLUDES(session_lock) { worker_.stop(); }

 private:
  cl_int run(Issue& issue, const std::function<cl_int(Issue&)>& command) EXCLUDES(session_lock);
  void finish(Issue& issue, cl_int error) EXCLUDES(session_lock);

  Strand& strand_;
  Issuer& issuer_;
  Outbox& outbox_;
  StdoutCapture& output_;
  PrintingPatience patience_;  // used by the worker, during a turn
  Worker worker_{strand_.on_failure()};
};

}  // namespace remotecl::server
