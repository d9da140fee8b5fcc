#include "server/wire/stream_recovery.h"

#include <algorithm>
#include <utility>

#include "server/util/log.h"

namespace remotecl::server {
namespace {

constexpr std::chrono::milliseconds kWindowMax{600'000};

}  // namespace

void StreamRecovery::set_window(std::chrono::milliseconds wanted) { window_ = std::min(wanted, kWindowMax); }

void StreamRecovery::watch(std::uint64_t process) {
  MutexLock lock(mutex_);
  client_ = ProcessWatch(process);
}

ResumableConnection::Hooks StreamRecovery::hooks(const char* name, std::function<void(std::uint64_t)> acknowledge) {
  ResumableConnection::Hooks hooks;
  hooks.broken = [this, name] {
    const LogScope scope(session_);
    log_info("has lost its {} connection", name);
  };
  hooks.acknowledge = std::move(acknowledge);
  hooks.hopeless = [this] {
    MutexLock lock(mutex_);
    return client_.has_ended();
  };
  return hooks;
}

}  // namespace remotecl::server
