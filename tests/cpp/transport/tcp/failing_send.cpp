#include "transport/tcp/failing_send.h"

#include <dlfcn.h>
#include <sys/socket.h>

#include <cerrno>

namespace {

thread_local int calls_left = -1;  // negative: none fails

}  // namespace

namespace remotecl {

void fail_send_after(int calls) { calls_left = calls; }

}  // namespace remotecl

// In the place of the C library's, for this program.
extern "C" ssize_t send(int descriptor, const void* data, size_t size, int flags) {
  if (calls_left >= 0 && calls_left-- == 0) {
    ::shutdown(descriptor, SHUT_RDWR);
    errno = ECONNRESET;
    return -1;
  }
  using Send = ssize_t(int, const void*, size_t, int);
  static Send* const next = reinterpret_cast<Send*>(::dlsym(RTLD_NEXT, "send"));
  return next(descriptor, data, size, flags);
}
