#pragma once

#include <functional>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"

namespace remotecl::server {

class IncomingTransfer;

// How far a bulk transfer to this server has come, for those that pass its bytes on while they arrive. Known to the
// session from the message that announces the transfer to its end, and to who follows it. Any thread.
class TransferProgress final : public RefCounted {
 public:
  struct Step {
    std::uint64_t available;  // bytes from the begin on
    cl_int status;            // negative: no more will come
  };

  // Calls `function` when the first bytes are here or it is known that none will come; at once if so. A driver's
  // callback may be the caller. What follows must not begin sooner: it would keep a connection busy with waiting.
  void when_begun(std::function<void()> function) EXCLUDES(mutex_);
  // Waits for more than `beyond` bytes, or the end.
  Step wait(std::uint64_t beyond) EXCLUDES(mutex_);
  bool ended() const EXCLUDES(mutex_);
  // Whose bytes they are; null when none have come.
  Ref<IncomingTransfer> transfer() const EXCLUDES(mutex_);

  // By the transfer.
  void advance(IncomingTransfer& transfer, std::uint64_t available) EXCLUDES(mutex_);
  void end(cl_int status) EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  ConditionVariable changed_;
  Ref<IncomingTransfer> transfer_ GUARDED_BY(mutex_);  // which lets go of this object when it ends
  std::uint64_t available_ GUARDED_BY(mutex_) = 0;
  bool ended_ GUARDED_BY(mutex_) = false;
  cl_int status_ GUARDED_BY(mutex_) = CL_SUCCESS;
  std::vector<std::function<void()>> waiting_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
