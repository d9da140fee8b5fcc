#pragma once

#include <functional>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"

namespace remotecl::server {

class IncomingTransfer;

// The progress of a bulk transfer to this server, for cut-through sends. The session knows it from the message that
// announces the transfer until the transfer's end; sends that follow the transfer keep it longer. Any thread.
class TransferProgress final : public RefCounted {
 public:
  struct Step {
    std::uint64_t available;  // bytes from the beginning
    cl_int status;            // negative: no more will come
  };

  // Calls `function` once the first bytes have arrived or it is known that none will come, possibly at once,
  // or from a driver's callback. A send must not begin earlier, because it would block a connection with
  // waiting.
  void when_begun(std::function<void()> function) EXCLUDES(mutex_);
  // Waits for more than `beyond` bytes, or for the end.
  Step wait(std::uint64_t beyond) EXCLUDES(mutex_);
  bool ended() const EXCLUDES(mutex_);
  // The transfer that brings the bytes; null if none have come.
  Ref<IncomingTransfer> transfer() const EXCLUDES(mutex_);

  // Called by the transfer.
  void advance(IncomingTransfer& transfer, std::uint64_t available) EXCLUDES(mutex_);
  void end(cl_int status) EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  ConditionVariable changed_;
  Ref<IncomingTransfer> transfer_ GUARDED_BY(mutex_);  // releases this object when it ends
  std::uint64_t available_ GUARDED_BY(mutex_) = 0;
  bool ended_ GUARDED_BY(mutex_) = false;
  cl_int status_ GUARDED_BY(mutex_) = CL_SUCCESS;
  std::vector<std::function<void()>> waiting_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
