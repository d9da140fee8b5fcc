#pragma once

#include <cstdint>
#include <functional>

#include "server/execution/driver_backlog.h"
#include "server/execution/queue.h"
#include "server/execution/strand.h"
#include "server/util/worker.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// Finds out when all that the driver has of a session's queue has ended. Needs the session's lock where nothing else
// is said. A queue whose end it is to find out has to be flushed.
class QueueWatch {
 public:
  QueueWatch(Strand& strand, Outbox& outbox, const Ref<SessionCounters>& counters)
      : strand_(strand), outbox_(outbox), counters_(counters) {}

  // Sends Finished when it has.
  cl_int report_finished(Queue& queue, Token token);
  // The driver has so much of what the queue was given, until that has ended. True: the session is to wait.
  bool count_backlog(Queue& queue, std::uint64_t size);
  void wait_for_backlog() { backlog_->wait(); }  // without the lock
  // Sees to it that it becomes known when it has. False: nothing was to be done.
  bool find_end(Queue& queue);

  // A thread for what blocks, as only a queue's end does. Any thread.
  void post(std::function<void()> job) { finishers_.post(std::move(job)); }
  // Waits for what runs. Without the lock.
  void stop();

 private:
  // Calls `then`, on any thread; `worker` waits where nothing else does.
  template <class Then>
  cl_int when_ended(Queue& queue, Then then, Worker& worker);

  Strand& strand_;
  Outbox& outbox_;
  const Ref<SessionCounters> counters_;
  const Ref<DriverBacklog> backlog_ = make_ref<DriverBacklog>(counters_);
  Worker finishers_{16};
  Worker searchers_{4};
};

}  // namespace remotecl::server
