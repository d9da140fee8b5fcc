#pragma once

#include "server/program/late_natives.h"
#include "server/program/shared_builds.h"
#include "server/util/worker.h"

namespace remotecl::server {

// What a session builds: the thread that compiles, native programs that are made after the client has its answer, and
// results that other servers ask for. Owned by the session; any thread.
class Builds {
 public:
  explicit Builds(const Ref<SessionCounters>& counters) : shared_(counters) {}

  Worker& worker() { return worker_; }
  LateNatives& late() { return late_; }
  SharedBuilds& shared() { return shared_; }
  // The session has ended: waits for what runs and drops the rest.
  void stop() {
    worker_.stop();
    late_.stop();
    shared_.clear();
  }

 private:
  SharedBuilds shared_;
  Worker worker_;
  LateNatives late_;
};

}  // namespace remotecl::server
