// How a session runs a command that prints.
#include <chrono>
#include <memory>
#include <vector>

#include "server/session.h"

namespace remotecl::server {
namespace {

constexpr std::size_t kUnreadTextMax = 4u << 20;
constexpr std::chrono::seconds kPatience{10};

// Sends text as fast as the client takes it. One that takes nothing at all loses the rest: other sessions wait for
// their turn.
class OutputSender {
 public:
  explicit OutputSender(Outbox& outbox) : outbox_(outbox) {}
  void operator()(std::string_view text) {
    if (!gone_) gone_ = !outbox_.wait_for_room(kUnreadTextMax, kPatience);
    if (!gone_) outbox_.send(KernelOutput{as_bytes(text)});
  }

 private:
  Outbox& outbox_;
  bool gone_ = false;
};

// Native events that a command waits for; owns a reference to each.
class KeptEvents {
 public:
  explicit KeptEvents(std::span<const cl_event> events) : events_(events.begin(), events.end()) {
    for (const cl_event event : events_) clRetainEvent(event);
  }
  ~KeptEvents() {
    for (const cl_event event : events_) clReleaseEvent(event);
  }
  KeptEvents(const KeptEvents&) = delete;
  KeptEvents& operator=(const KeptEvents&) = delete;
  std::span<const cl_event> get() const { return events_; }

 private:
  std::vector<cl_event> events_;
};

}  // namespace

void Session::print(Issue& issue, std::function<cl_int(Issue&)> command) {
  issue.enqueued = false;
  issue.queue.count_native_command();
  printers_.post([this, queue = Ref<Queue>(&issue.queue), event = Ref<Event>(issue.event), hold = issue.hold,
                  waits = std::make_shared<KeptEvents>(issue.waits), command = std::move(command)] {
    try {
      Issue later{*queue, event.get(), waits->get(), hold};
      // Whatever comes before ends before others are kept waiting.
      if (queue->in_order()) clFinish(queue->native());
      if (!waits->get().empty()) clWaitForEvents(later.wait_count(), later.wait_list());
      cl_int error = CL_SUCCESS;
      shared_.output.run(
          [&] {
            {
              MutexLock lock(mutex_);
              if (closed_) return;
              error = command(later);
            }
            clFinish(queue->native());
          },
          OutputSender(outbox_));
      printed(later, error);
    } catch (const std::exception& error) {
      close(error.what());
    }
  });
}

// All that the command printed is on its way: now its end may be known.
void Session::printed(Issue& issue, cl_int error) {
  {
    MutexLock lock(mutex_);
    if (closed_) {
      if (issue.native != nullptr) clReleaseEvent(issue.native);
      if (issue.first != nullptr) clReleaseEvent(issue.first);
      return;
    }
    if (issue.first != nullptr) issue.event->first = issue.first;
    if (error != CL_SUCCESS) {
      issuer_.fail(issue.queue, issue.event, error);
    } else if (issue.native != nullptr) {
      issuer_.accepted(issue.queue, issue.event, issue.native);
    }
    issuer_.finish_hold(issue.hold);
    settle();
  }
  outbox_.flush();
}

}  // namespace remotecl::server
