#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "extras/scheduling/schedule/scheduler.h"
#include "runtime/base/index_set.h"
#include "simulated_clock.h"
#include "simulated_server.h"

namespace remotecl::schedule {

// A program with independent kernels, as tests/bench/shared_cluster.py has them: it enqueues one for each of its
// buffers and then waits, for the kernel that it enqueued first or for any, before it enqueues the next. On the
// automatic device its scheduler learns what a client's learns (extras/scheduling/placement), no sooner.
class SimulatedProgram {
 public:
  struct Work {
    std::uint32_t kernels = 0;
    Seconds seconds = 0;  // of one thread
  };
  struct Options {
    std::uint32_t buffers = 32;
    bool waits_in_order = false;
    Seconds enqueue = 100e-6;  // that a call takes
    Seconds latency = 100e-6;  // of a message
    Seconds load_delay = 40e-3;
  };
  static constexpr DeviceId kAutomatic = kNoDevice;

  // `fixed_device`: the device that it uses. `speeds`: what servers say of their devices.
  SimulatedProgram(SimulatedClock& clock, std::vector<std::unique_ptr<SimulatedServer>>& servers, std::uint32_t id,
                   std::string_view policy, DeviceId fixed_device, std::span<const double> speeds,
                   const Options& options);
  SimulatedProgram(const SimulatedProgram&) = delete;

  void begin(Work work);
  bool is_done() const { return done_ == work_.kernels; }

  Time last_end() const { return last_end_; }
  Seconds longest_wait() const { return longest_wait_; }                // from one end to the next
  const std::vector<std::uint32_t>& placed() const { return placed_; }  // by device

 private:
  class Buffers : public Residency {
   public:
    explicit Buffers(std::uint32_t count) : holders_(count) {}
    void find(const Access& access, std::vector<Segment>& out) const override {
      const IndexSet& at = holders_[access.buffer];
      out.push_back({access.bytes, &at, at.empty()});
    }
    // Returns whether it was elsewhere.
    bool move(BufferId buffer, DeviceId device) {
      const bool moves = !holders_[buffer].is_only(device);
      holders_[buffer] = {device};
      return moves;
    }

   private:
    std::vector<IndexSet> holders_;
  };
  struct Task {
    Ticket ticket;
    BufferId buffer;
    bool is_sample = false;
    SimulatedServer::Run run{};
    bool has_ended = false;  // and a message has said so, if the program has asked
    bool is_known = false;   // to the scheduler
  };

  void go();
  void place();
  Placement choose(BufferId buffer);
  // The scheduler gets to know of the end.
  void tell(Task& task);
  void ended(Task& task, const SimulatedServer::Run& run);

  SimulatedClock& clock_;
  std::vector<std::unique_ptr<SimulatedServer>>& servers_;
  const std::uint32_t id_;
  const DeviceId fixed_device_;
  const Options options_;
  Buffers buffers_;
  Scheduler scheduler_;
  KernelId kernel_ = 0;
  Work work_;
  std::vector<BufferId> free_;
  std::deque<std::shared_ptr<Task>> running_;  // of the program
  std::uint32_t enqueued_ = 0, done_ = 0;
  bool waits_ = false;
  Time last_end_ = 0;
  Seconds longest_wait_ = 0;
  std::vector<std::uint32_t> placed_;
};

}  // namespace remotecl::schedule
