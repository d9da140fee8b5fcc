#pragma once

#include "runtime/base/mutex.h"
#include "runtime/client/session/load_sink.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// The watchers of a server's DeviceLoads. Owned by the session; any thread.
class LoadWatch {
 public:
  // Null: nobody. When this returns, the former sink is not called any more.
  void set(LoadSink* sink) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    sink_ = sink;
  }
  void report(Session& session, const DeviceLoads& report) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (sink_ == nullptr) return;  // the report was on its way when the watching ended
    const double own = static_cast<double>(report.own_weight_thousandths) / 1e3;
    report.devices.for_each([&session, own, sink = sink_](const LoadOfDevice& device) {
      sink->device_load(
          session, device.index,
          {static_cast<double>(device.queued_us) / 1e6, static_cast<double>(device.weight_thousandths) / 1e3, own});
    });
  }

 private:
  Mutex mutex_;
  LoadSink* sink_ GUARDED_BY(mutex_) = nullptr;
};

}  // namespace remotecl
