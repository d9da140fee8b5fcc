#pragma once

#include "server/program/late_natives.h"
#include "server/util/worker.h"

namespace remotecl::server {

// What a session builds: the thread that compiles, and native programs that are made after the client has its answer.
// Owned by the session; any thread.
class Builds {
 public:
  Worker& worker() { return worker_; }
  LateNatives& late() { return late_; }
  // The session has ended: waits for what runs and drops the rest.
  void stop() {
    worker_.stop();
    late_.stop();
  }

 private:
  Worker worker_;
  LateNatives late_;
};

}  // namespace remotecl::server
