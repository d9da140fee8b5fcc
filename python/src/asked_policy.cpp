#include "asked_policy.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bindings.h"

namespace remotecl::python {
namespace {

unsigned size_class_of(double work_items) { return work_items < 2 ? 0 : static_cast<unsigned>(std::ilogb(work_items)); }

}  // namespace

AskedPolicy::AskedPolicy(std::string name) : name_(std::move(name)), descriptor_(::eventfd(0, EFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::runtime_error("a policy needs a file descriptor, and there is none: raise ulimit -n");
}

AskedPolicy::~AskedPolicy() { ::close(descriptor_); }

std::string AskedPolicy::use(const std::shared_ptr<AskedPolicy>& policy) {
  using Held = std::shared_ptr<AskedPolicy>;
  remotecl_policy table{};
  table.size = sizeof(table);
  table.version = REMOTECL_POLICY_VERSION;
  table.name = policy->name_.c_str();
  table.destroy = [](void* self) {
    const std::unique_ptr<Held> held(static_cast<Held*>(self));
    (*held)->end();
  };
  table.choose = [](void* self, const remotecl_policy_task* task, const remotecl_policy_candidate* candidates) {
    return (*static_cast<Held*>(self))->choose(*task, candidates);
  };
  auto held = std::make_unique<Held>(policy);
  char* error = nullptr;
  if (remotecl_set_policy(&table, held.get(), &error) != 0) return take_text(error);
  held.release();
  return "";
}

std::uint32_t AskedPolicy::choose(const remotecl_policy_task& task, const remotecl_policy_candidate* candidates) {
  const MutexLock lock(mutex_);
  const Key key{task.kernel, size_class_of(task.work_items)};
  auto at = answers_.find(key);
  if (at == answers_.end()) {
    if (answers_.size() >= kAnswersMax) answers_.clear();
    at = answers_.emplace(std::pair(std::string(key.kernel), key.size_class), Answer{}).first;
  }
  Answer& answer = at->second;
  if (!answer.is_asked && task.now_s - answer.asked_s >= kAnswerSeconds) {
    questions_.push_back({at->first.first, key.size_class, task, {candidates, candidates + task.count}});
    answer.is_asked = true;
    answer.asked_s = task.now_s;
    wake();
  }
  for (std::size_t tried = 0; tried < answer.devices.size(); ++tried) {
    const std::uint32_t wanted = answer.devices[answer.next++ % answer.devices.size()];
    const auto found = std::find_if(candidates, candidates + task.count,
                                    [&](const auto& candidate) { return candidate.device == wanted; });
    if (found != candidates + task.count) return static_cast<std::uint32_t>(found - candidates);
  }
  return REMOTECL_POLICY_NOBODY;
}

std::vector<AskedPolicy::Question> AskedPolicy::take_questions() {
  const MutexLock lock(mutex_);
  return std::exchange(questions_, {});
}

void AskedPolicy::answer(const std::string& kernel, unsigned size_class, std::vector<std::uint32_t> devices) {
  const MutexLock lock(mutex_);
  Answer& answer = answers_[{kernel, size_class}];
  if (answer.devices != devices) answer.next = 0;
  answer.devices = std::move(devices);
  answer.is_asked = false;
}

bool AskedPolicy::has_ended() const {
  const MutexLock lock(mutex_);
  return has_ended_;
}

void AskedPolicy::end() {
  const MutexLock lock(mutex_);
  has_ended_ = true;
  wake();
}

void AskedPolicy::wake() const { ::eventfd_write(descriptor_, 1); }

}  // namespace remotecl::python
