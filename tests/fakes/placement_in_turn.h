#pragma once

#include <memory>
#include <vector>

#include "runtime/client/commands/commands.h"
#include "runtime/client/commands/placed_plan.h"
#include "runtime/client/objects/device.h"
#include "runtime/client/objects/queue_placement.h"

namespace remotecl::testing {

// Sends the commands of a queue to its members in turn, whatever they are, and keeps no order between members. One
// thread.
class PlacementInTurn final : public QueuePlacement {
 public:
  struct Use {
    const MemoryObject* memory;
    ByteRange range;
    bool is_written;
  };

  explicit PlacementInTurn(CommandQueue& whole) {
    for (Device* member : whole.device().members()) members_.push_back(make_ref<CommandQueue>(whole, *member));
  }

  CommandQueue& member(std::size_t at) { return *members_[at]; }
  // What the latest command said that it would use.
  const std::vector<Use>& uses() const { return gathered_.uses; }

  cl_int submit(CommandPlan& plan, WaitList wait) override {
    CommandQueue& member = *members_[next_++ % members_.size()];
    gathered_.uses.clear();
    {
      const MutexLock lock(member.context().memory_mutex());
      plan.will_use(gathered_);
    }
    return with_links([&](std::optional<ServerPair>& missing) { return plan.send_to({member, wait}, missing); });
  }
  cl_int enqueue_point(bool is_barrier, cl_command_type type, WaitList wait, Event** event) override {
    return enqueue_marker(*members_.front(), is_barrier, type, wait, event);
  }
  void flush() override {
    for (const auto& member : members_) member->flush();
  }
  cl_int finish() override {
    cl_int result = CL_SUCCESS;
    for (const auto& member : members_) {
      if (const cl_int code = member->finish(); code != CL_SUCCESS) result = code;
    }
    return result;
  }
  bool owes_host() override {
    for (const auto& member : members_) {
      if (member->owes_host()) return true;
    }
    return false;
  }
  // The members keep the queue that owns this.
  void let_go() override {
    *was_released_ = true;
    const std::vector<Ref<CommandQueue>> members = std::move(members_);
    for (const auto& member : members) member->learn_end();
  }
  // True once the application has released the queue; outlives it.
  std::shared_ptr<const bool> released() const { return was_released_; }

 private:
  struct Gathered final : MemoryUses {
    std::vector<Use> uses;
    void reads(const MemoryObject& memory, ByteRange range) override REQUIRES(kMemoryMutex) {
      uses.push_back({&memory, range, false});
    }
    void writes(const MemoryObject& memory, ByteRange range) override REQUIRES(kMemoryMutex) {
      uses.push_back({&memory, range, true});
    }
    void has_network(const MemoryObject&) override {}
  };

  std::vector<Ref<CommandQueue>> members_;
  std::size_t next_ = 0;
  Gathered gathered_;
  const std::shared_ptr<bool> was_released_ = std::make_shared<bool>(false);
};

// An automatic device that says of itself what its first member says, and whose queues are placed in turn.
class DevicesInTurn final : public AutomaticDevices {
 public:
  Device* make_device(Platform& platform, const std::vector<Device*>& devices) override {
    return devices.empty() ? nullptr : new Device(platform, devices, devices.front()->all_info());
  }
  std::unique_ptr<QueuePlacement> make_placement(CommandQueue& whole) override {
    return std::make_unique<PlacementInTurn>(whole);
  }
  std::vector<Count> counts() override { return {}; }
};

}  // namespace remotecl::testing
