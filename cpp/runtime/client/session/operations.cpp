#include "runtime/client/session/operations.h"

#include "runtime/client/session/session.h"
#include "runtime/client/support/ids.h"

namespace remotecl {

Operations::Running::Running(Operations& all, Operation::Kind kind, std::string where, std::uint64_t total)
    : all_(all), id_(next_id()), kind_(kind), where_(std::move(where)), total_(total) {
  const MutexLock lock(all_.mutex_);
  all_.running_.push_back(this);
}

Operations::Running::~Running() {
  const MutexLock lock(all_.mutex_);
  std::erase(all_.running_, this);
}

void Operations::add(const Session& session) {
  const MutexLock lock(mutex_);
  sessions_.push_back(&session);
}

void Operations::remove(const Session& session) {
  const MutexLock lock(mutex_);
  std::erase(sessions_, &session);
}

std::vector<Operation> Operations::list() const {
  std::vector<Operation> list;
  const MutexLock lock(mutex_);
  for (const Running* running : running_) {
    list.push_back({running->id_, running->kind_, running->where_, running->done_.load(std::memory_order_relaxed),
                    running->total_});
  }
  for (const Session* session : sessions_) session->list_transfers(list);
  return list;
}

}  // namespace remotecl
