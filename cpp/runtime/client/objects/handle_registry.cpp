#include "runtime/client/objects/handle_registry.h"

#include <atomic>
#include <cstring>
#include <unordered_set>

#include "runtime/base/mutex.h"
#include "runtime/client/objects/handle.h"

namespace remotecl {

const void* g_dispatch_table = nullptr;

namespace {

std::atomic<std::size_t> g_count{0};
Mutex g_mutex;
// Never destroyed, because other static objects may release handles at exit.
std::unordered_set<HandleBase*>& handles() {
  static auto& set = *new std::unordered_set<HandleBase*>;
  return set;
}

}  // namespace

void HandleRegistry::add(HandleBase* handle) {
  const MutexLock lock(g_mutex);
  handles().insert(handle);
  g_count = handles().size();
}

void HandleRegistry::remove(HandleBase* handle) {
  const MutexLock lock(g_mutex);
  handles().erase(handle);
  g_count = handles().size();
}

HandleBase* HandleRegistry::find(const void* value) {
  if (g_count.load(std::memory_order_relaxed) == 0) return nullptr;
  HandleBase* handle = nullptr;
  std::memcpy(&handle, value, sizeof handle);
  const MutexLock lock(g_mutex);
  return handles().contains(handle) ? handle : nullptr;
}

}  // namespace remotecl
