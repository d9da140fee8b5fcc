#pragma once

#include <cstdint>
#include <functional>

#include "server/execution/driver_backlog.h"
#include "server/execution/event_table.h"
#include "server/execution/queue.h"
#include "server/execution/strand.h"
#include "server/util/session_lock.h"
#include "server/util/worker.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// Notices when all native commands of a session's queue have ended. The caller must flush the watched queue.
class QueueWatch {
 public:
  QueueWatch(Strand& strand, Outbox& outbox, EventTable& events, const Ref<SessionCounters>& counters)
      : strand_(strand), outbox_(outbox), events_(events), counters_(counters) {}

  // Sends Finished when all of them have ended, after the reports of those that have failed.
  cl_int report_finished(Queue& queue, Token token) REQUIRES(session_lock);
  // Runs the action with the session's lock when all of them have ended, in whatever way.
  cl_int run_after(Queue& queue, std::function<void()> action) REQUIRES(session_lock);
  // Counts commands of the queue as backlog until they have ended. Returns true if the session must wait.
  bool count_backlog(Queue& queue, std::uint64_t size) REQUIRES(session_lock);
  void wait_for_backlog() EXCLUDES(session_lock) { backlog_->wait(); }
  // Arranges that the queue's end becomes known. Returns false if there was nothing to do.
  bool find_end(Queue& queue) REQUIRES(session_lock);

  // Runs a job that blocks, as waiting for a queue's end does, on a thread. Any thread.
  void post(std::function<void()> job) { finishers_.post(std::move(job)); }
  // Waits for running jobs.
  void stop() EXCLUDES(session_lock);

 private:
  // Calls `then` on any thread when the queue's commands have ended, with the driver's error if they have failed.
  // `worker` waits if nothing else can.
  template <class Then>
  cl_int when_ended(Queue& queue, Then then, Worker& worker) REQUIRES(session_lock);

  Strand& strand_;
  Outbox& outbox_;
  EventTable& events_;
  const Ref<SessionCounters> counters_;
  const Ref<DriverBacklog> backlog_ = make_ref<DriverBacklog>(counters_);
  Worker finishers_{strand_.on_failure(), 16};
  Worker searchers_{strand_.on_failure(), 4};
};

}  // namespace remotecl::server
