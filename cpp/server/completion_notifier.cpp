#include "server/completion_notifier.h"

#include <utility>

namespace remotecl::server {
namespace {

struct Wait {
  cl_event event;
  CompletionNotifier::Function function;
};

void CL_CALLBACK ended(cl_event, cl_int status, void* data) {
  auto* wait = static_cast<Wait*>(data);
  wait->function(status > 0 ? CL_COMPLETE : status);
  clReleaseEvent(wait->event);
  delete wait;
}

}  // namespace

void CompletionNotifier::notify(cl_event event, Function function) {
  clRetainEvent(event);  // the caller may drop its reference before the event ends
  auto* wait = new Wait{event, std::move(function)};
  const cl_int error = clSetEventCallback(event, CL_COMPLETE, ended, wait);
  if (error != CL_SUCCESS) ended(event, error, wait);
}

}  // namespace remotecl::server
