#pragma once

#include <map>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"

namespace remotecl::server {

class PipeListener;

// Where kernels listen under rcl: names. Shared by the networks of one session; any thread.
class KernelNames final : public RefCounted {
 public:
  // Returns false if the name is taken.
  bool add(const std::string& name, const Ref<PipeListener>& listener) EXCLUDES(mutex_);
  void remove(const std::string& name, const PipeListener& listener) EXCLUDES(mutex_);
  // Null if nobody listens.
  Ref<PipeListener> find(const std::string& name) const EXCLUDES(mutex_);

  KernelNames();
  ~KernelNames() override;

 private:
  mutable Mutex mutex_;
  std::map<std::string, Ref<PipeListener>> listeners_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
