#include "extras/kernel_sockets/space/kernel_names.h"

#include "extras/kernel_sockets/space/pipe_listener.h"

namespace remotecl::server {

KernelNames::KernelNames() = default;
KernelNames::~KernelNames() = default;

bool KernelNames::add(const std::string& name, const Ref<PipeListener>& listener) {
  MutexLock lock(mutex_);
  return listeners_.emplace(name, listener).second;
}

void KernelNames::remove(const std::string& name, const PipeListener& listener) {
  MutexLock lock(mutex_);
  const auto at = listeners_.find(name);
  if (at != listeners_.end() && at->second.get() == &listener) listeners_.erase(at);
}

Ref<PipeListener> KernelNames::find(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto at = listeners_.find(name);
  return at == listeners_.end() ? nullptr : at->second;
}

}  // namespace remotecl::server
