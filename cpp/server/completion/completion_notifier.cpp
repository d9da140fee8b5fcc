#include "server/completion/completion_notifier.h"

#include <atomic>
#include <utility>

#include "server/completion/native.h"

namespace remotecl::server {
namespace {

struct Wait {
  Native<cl_event> event;  // the caller may drop its reference before the event ends
  CompletionNotifier::Function function;
  // What was written before notify() is seen by the function. The driver's locks see to that as well, but they are
  // nothing that a thread sanitizer, or a reader of this code, can check.
  std::atomic<bool> handed_over{false};
};

void CL_CALLBACK ended(cl_event, cl_int status, void* data) {
  auto* wait = static_cast<Wait*>(data);
  wait->handed_over.load(std::memory_order_acquire);
  wait->function(status > 0 ? CL_COMPLETE : status);
  delete wait;
}

}  // namespace

void CompletionNotifier::notify_as(EventWaiters::Report report, cl_event event, Function function) const {
  if (waiters_->wait(event, function, report)) return;
  auto* wait = new Wait{Native<cl_event>::retained(event), std::move(function)};
  wait->handed_over.store(true, std::memory_order_release);
  const cl_int error = clSetEventCallback(event, CL_COMPLETE, ended, wait);
  if (error != CL_SUCCESS) ended(event, error, wait);
}

void CompletionNotifier::notify(cl_event event, Function function) const {
  notify_as(EventWaiters::Report::kInTurn, event, std::move(function));
}

void CompletionNotifier::notify_asked(cl_event event, Function function) const {
  notify_as(EventWaiters::Report::kAsked, event, std::move(function));
}

void CompletionNotifier::notify_apart(cl_event event, Function function) const {
  notify_as(EventWaiters::Report::kApart, event, std::move(function));
}

}  // namespace remotecl::server
