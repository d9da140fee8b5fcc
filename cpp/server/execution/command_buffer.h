#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/execution/issue.h"
#include "server/execution/recorded_command.h"
#include "server/execution/recorded_order.h"
#include "server/quota/held_memory.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// Commands that a client has recorded for one device. Owned by the session's table and by waiting replays.
class CommandBuffer final : public RefCounted {
 public:
  CommandBuffer(Device& device, std::vector<RecordedStep> steps, RecordedOrder order, bool prints, cl_int error,
                HeldMemory held);

  std::size_t size() const { return steps_.size(); }
  // Passes all commands to the driver. If it refuses one of them, those before it have ended on return.
  cl_int replay(Issue& issue) REQUIRES(session_lock);
  bool prints() const { return prints_; }
  // The memory objects that its kernels have as arguments; each may be named several times, and some are null.
  template <class F>
  void for_each_argument(F&& f) const {
    for (const RecordedStep& step : steps_) {
      const auto* kernel = std::get_if<RecordedKernel>(&step);
      if (kernel == nullptr || kernel->arguments == nullptr) continue;
      for (const Ref<Memory>& memory : kernel->arguments->memory) f(memory);
    }
  }
  // Returns true if a replay has not ended yet.
  bool is_pending() REQUIRES(session_lock);

  // A replay that has not been passed to the driver yet. Any thread may destroy it.
  class Held {
   public:
    explicit Held(Ref<CommandBuffer> of) : of_(std::move(of)) { ++of_->held_; }
    ~Held() { end(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    void end() {
      if (!std::exchange(ended_, true)) --of_->held_;
    }

   private:
    const Ref<CommandBuffer> of_;
    bool ended_ = false;
  };

 private:
  cl_int enqueue(std::uint32_t index, cl_command_queue queue, const EventArguments& events) const
      REQUIRES(session_lock);
  cl_int replay_in_order(Issue& issue) const REQUIRES(session_lock);
  cl_int replay_by_events(Issue& issue) const REQUIRES(session_lock);
  void remember(const Queue& queue, Native<cl_event> end) REQUIRES(session_lock);
  void forget_ended() REQUIRES(session_lock);

  Device& device_;
  const std::vector<RecordedStep> steps_;
  const RecordedOrder order_;
  const bool prints_;   // true if some of its kernels print
  const cl_int error_;  // the reason why it cannot be executed
  const HeldMemory held_memory_;
  std::vector<std::uint32_t> steps_in_order_;  // without those that only order others

  // The ends of replays. In an in-order queue the newest end stands for all of them.
  struct Replay {
    ObjectId queue;
    Native<cl_event> end;
  };
  std::vector<Replay> replays_ GUARDED_BY(session_lock);
  std::size_t sweep_at_ GUARDED_BY(session_lock) = 16;  // the number of replays at which ended ones are removed
  std::atomic<std::size_t> held_{0};
};

}  // namespace remotecl::server
