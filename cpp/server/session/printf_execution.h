#pragma once

#include <functional>

#include "server/driver/stdout_capture.h"
#include "server/execution/issuer.h"
#include "server/execution/strand.h"
#include "server/session/printing_patience.h"
#include "server/util/worker.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// Runs a session's commands that print, one at a time, and sends the client what they have printed. What a driver
// prints belongs to a command only while no other one prints.
class PrintfExecution {
 public:
  PrintfExecution(Strand& strand, Issuer& issuer, Outbox& outbox, StdoutCapture& output)
      : strand_(strand), issuer_(issuer), outbox_(outbox), output_(output) {}

  Issuer& issuer() { return issuer_; }
  // Runs a long command after all that it waits for, while no other one prints. With the lock.
  void start(Issue& issue, std::function<cl_int(Issue&)> command);
  // Waits for what runs. Without the lock.
  void stop() { worker_.stop(); }

 private:
  cl_int run(Issue& issue, const std::function<cl_int(Issue&)>& command);
  void finish(Issue& issue, cl_int error);

  Strand& strand_;
  Issuer& issuer_;
  Outbox& outbox_;
  StdoutCapture& output_;
  PrintingPatience patience_;  // of the worker, and of who waits for it
  Worker worker_;
};

}  // namespace remotecl::server
