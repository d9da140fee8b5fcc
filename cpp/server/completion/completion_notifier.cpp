#include "server/completion/completion_notifier.h"

#include <atomic>
#include <memory>
#include <utility>

#include "server/completion/event_status.h"
#include "server/completion/event_waiters.h"
#include "server/completion/native.h"

namespace remotecl::server {
namespace {

struct Wait {
  Ref<EventWaiters> waiters;
  Native<cl_event> event;  // the caller may drop its reference before the event ends
  CompletionNotifier::Function function;
  // Makes what was written before notify() visible to the function. The driver's locks do that as well, but
  // neither a thread sanitizer nor a reader of this code can check them.
  std::atomic<bool> handed_over{false};
};

void CL_CALLBACK ended(cl_event, cl_int status, void* data) {
  const std::unique_ptr<Wait> wait(static_cast<Wait*>(data));
  wait->handed_over.load(std::memory_order_acquire);
  wait->waiters->guard([&] { wait->function(status > 0 ? CL_COMPLETE : status); });
}

void notify_as(EventWaiters::Report report, EventWaiters& waiters, cl_event event,
               CompletionNotifier::Function function, CompletionNotifier::Position position) {
  if (waiters.wait(event, function, report, position)) return;
  if (report == EventWaiters::Report::kAsked) {  // the driver may take its time, even if the event has ended
    const cl_int status = execution_status(event);
    if (status <= CL_COMPLETE) return function(status);
  }
  auto* wait = new Wait{Ref<EventWaiters>(&waiters), Native<cl_event>::retained(event), std::move(function)};
  wait->handed_over.store(true, std::memory_order_release);
  const cl_int error = clSetEventCallback(event, CL_COMPLETE, ended, wait);
  if (error != CL_SUCCESS) ended(event, error, wait);
}

}  // namespace

CompletionNotifier::CompletionNotifier(Failed failed) : waiters_(make_ref<EventWaiters>(std::move(failed))) {}
CompletionNotifier::CompletionNotifier(const CompletionNotifier&) = default;
CompletionNotifier::CompletionNotifier(CompletionNotifier&&) noexcept = default;
CompletionNotifier::~CompletionNotifier() = default;

void CompletionNotifier::expect_late(cl_context context) const { waiters_->add(context); }
void CompletionNotifier::stop() const { waiters_->stop(); }

void CompletionNotifier::comes(Position position) const { waiters_->comes(position); }

void CompletionNotifier::notify(cl_event event, Function function, Position position) const {
  notify_as(EventWaiters::Report::kInTurn, *waiters_, event, std::move(function), position);
}

void CompletionNotifier::notify_asked(cl_event event, Function function, Position position) const {
  notify_as(EventWaiters::Report::kAsked, *waiters_, event, std::move(function), position);
}

void CompletionNotifier::notify_apart(cl_event event, Function function) const {
  notify_as(EventWaiters::Report::kApart, *waiters_, event, std::move(function), kLast);
}

}  // namespace remotecl::server
