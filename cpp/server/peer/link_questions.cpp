#include "server/peer/link_builds.h"

#include <utility>

#include "server/util/protocol_error.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

std::vector<std::byte> LinkBuilds::ask(BuildId build, const Digest& key, Deadline deadline) {
  MutexLock lock(mutex_);
  if (is_closed_) return {};
  const std::uint64_t question = ++last_;
  Question& asked = questions_[question];
  lock.unlock();
  outbox_.send(AskBuild{question, build, key});
  lock.lock();
  while (!is_closed_ && !asked.is_answered && changed_.wait_until(mutex_, deadline) == std::cv_status::no_timeout) {
  }
  if (!asked.is_answered) abandoned_.insert(question);
  std::vector<std::byte> entry = std::move(asked.entry);
  questions_.erase(question);
  return entry;
}

void LinkBuilds::answered(std::uint64_t question, Bytes entry) {
  MutexLock lock(mutex_);
  const auto at = questions_.find(question);
  if (at != questions_.end() && !at->second.is_answered) {
    at->second = {true, {entry.begin(), entry.end()}};
    changed_.notify_all();
  } else if (abandoned_.erase(question) == 0) {
    throw ProtocolError("a peer answers a question about a build that it was not asked");
  }
}

void LinkBuilds::close() {
  MutexLock lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

}  // namespace remotecl::server
