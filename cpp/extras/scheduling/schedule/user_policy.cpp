#include "extras/scheduling/schedule/user_policy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "extras/scheduling/schedule/earliest_finish.h"

namespace remotecl::schedule {
namespace {

// Up to what every table has.
constexpr std::size_t kTableMin = offsetof(remotecl_policy, choose) + sizeof(remotecl_policy::choose);

remotecl_policy_candidate describe(const Situation& situation, DeviceId device) {
  const Device& there = situation.cluster[device];
  const Estimate estimate = situation.estimate(device);
  remotecl_policy_candidate result{};
  result.size = sizeof(result);
  result.device = device;
  result.type = static_cast<std::uint32_t>(there.type);
  result.speed = there.speed;
  result.memory_bytes = there.memory_bytes;
  result.free_s = situation.free_at(device);
  result.transfer_s = estimate.transfer;
  result.seconds = estimate.seconds;
  result.finish_s = estimate.finish;
  result.missing_bytes = estimate.bytes;
  result.measured = estimate.measured;
  result.queued = situation.queues[device].tasks();
  return result;
}

}  // namespace

UserPolicy::UserPolicy(const remotecl_policy* table, const std::string& options, std::shared_ptr<void> library)
    : library_(std::move(library)) {
  use(table);
  if (table_.create && table_.create(options.c_str(), &self_) != 0) {
    throw std::runtime_error("the policy " + name_ + " refuses the options \"" + options + "\"");
  }
}

UserPolicy::UserPolicy(const remotecl_policy* table, void* self) {
  use(table);
  self_ = self;
}

void UserPolicy::use(const remotecl_policy* table) {
  if (!table || table->size < kTableMin) throw std::runtime_error("the policy's table of functions is too short");
  if (table->version != REMOTECL_POLICY_VERSION) {
    throw std::runtime_error("the policy is for version " + std::to_string(table->version) +
                             " of remotecl/policy.h, not " + std::to_string(REMOTECL_POLICY_VERSION));
  }
  std::memcpy(&table_, table, std::min(table->size, sizeof(table_)));
  if (!table_.name || !table_.choose) throw std::runtime_error("the policy lacks a name or the function choose");
  name_ = table_.name;
}

UserPolicy::~UserPolicy() {
  if (table_.destroy) table_.destroy(self_);
}

Choice UserPolicy::choose(const Situation& situation) {
  candidates_.clear();
  situation.for_each_candidate([&](DeviceId device) { candidates_.push_back(describe(situation, device)); });
  if (candidates_.empty()) return {};
  remotecl_policy_task task{};
  task.size = sizeof(task);
  task.kernel = situation.kernel.name.c_str();
  task.work_items = situation.task.size;
  task.bytes = situation.bytes;
  task.now_s = situation.now;
  task.ready_s = situation.ready;
  task.told = situation.task.named;
  task.count = static_cast<std::uint32_t>(candidates_.size());
  const std::uint32_t chosen = table_.choose(self_, &task, candidates_.data());
  if (chosen >= candidates_.size()) return EarliestFinish().choose(situation);
  return {.device = candidates_[chosen].device};
}

void UserPolicy::finished(const Result& result) {
  if (!table_.finished) return;
  remotecl_policy_result report{};
  report.size = sizeof(report);
  report.kernel = result.kernel.name.c_str();
  report.work_items = result.size;
  report.device = result.device;
  report.seconds = result.seconds;
  report.expected_s = result.expected;
  table_.finished(self_, &report);
}

}  // namespace remotecl::schedule
