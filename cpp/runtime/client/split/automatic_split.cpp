#include "runtime/client/split/automatic_split.h"

#include <optional>

#include "runtime/base/host_time.h"
#include "runtime/base/settings.h"
#include "runtime/client/commands/divided_turn.h"
#include "runtime/client/split/divided_range.h"
#include "runtime/client/split/division_event.h"
#include "runtime/client/split/proven_slices.h"
#include "runtime/client/split/sliced_kernel_plan.h"
#include "runtime/client/split/split_kernel.h"

namespace remotecl {
namespace {

bool is_wanted() {
  static const bool is_wanted = settings::on_or_off("REMOTECL_AUTO_SPLIT").value_or(true);
  return is_wanted;
}

// A launch that may be divided, and how.
class Divisible {
 public:
  // Nullopt: along no dimension, or not into several parts.
  static std::optional<Divisible> make(CommandQueue& queue, Kernel& kernel, const NDRange& range,
                                       std::span<const Placement::Part> parts) {
    if (DeclaredSlices declared = kernel.slices(); !declared.slices.empty()) {
      const cl_uint dimension = declared.dimension;
      if (dimension >= range.dimensions || range.global[dimension] < parts.size()) return std::nullopt;
      if (SplitKernel::check_slices(kernel, declared.slices) != CL_SUCCESS) return std::nullopt;
      Divisible divisible(kernel, range, dimension, parts, std::move(declared.slices));
      return divisible.pieces_.size() > 1 ? std::optional(std::move(divisible)) : std::nullopt;
    }
    CommandQueue* const queues[] = {&queue};
    // Rows before columns, because a slice of rows is contiguous.
    for (cl_uint dimension = range.dimensions; dimension-- > 0;) {
      if (range.global[dimension] < parts.size()) continue;
      ProvenSlices proven = prove_slices(kernel, queues, range, dimension);
      if (!proven.why_not.empty()) continue;
      Divisible divisible(kernel, range, dimension, parts, std::move(proven.slices));
      if (divisible.pieces_.size() > 1) return divisible;
    }
    return std::nullopt;
  }

  const std::vector<DividedTurn::Sized>& parts() const { return parts_; }
  std::vector<SlicedKernelPlan> plans() const {
    std::vector<SlicedKernelPlan> plans;
    for (const NDRange& range : ranges_) {
      const std::uint64_t begin = range.offset[dimension_];
      plans.push_back(
          {{{}, CL_COMMAND_NDRANGE_KERNEL, kernel_, range}, slices_, begin, begin + range.global[dimension_]});
    }
    return plans;
  }

 private:
  Divisible(Kernel& kernel, const NDRange& range, cl_uint dimension, std::span<const Placement::Part> parts,
            std::vector<Slice> slices)
      : kernel_(kernel), dimension_(dimension), slices_(std::move(slices)) {
    std::vector<const Device*> devices;
    std::vector<double> shares;
    for (const Placement::Part& part : parts) {
      devices.push_back(part.device);
      shares.push_back(part.share);
    }
    const DividedRange divided(range, kernel, dimension, devices);
    pieces_ = schedule::split_in_proportion(shares, divided.items(), divided.granularity());
    for (const schedule::Piece& piece : pieces_) {
      const NDRange& part = ranges_.emplace_back(divided.part(piece));
      const auto size = static_cast<double>(part.global[0] * part.global[1] * part.global[2]);
      parts_.push_back({parts[piece.device], size});
    }
  }

  Kernel& kernel_;
  cl_uint dimension_;
  std::vector<Slice> slices_;
  std::vector<schedule::Piece> pieces_;
  std::vector<NDRange> ranges_;            // by piece
  std::vector<DividedTurn::Sized> parts_;  // by piece
};

// Nullopt: the kernel is to run whole.
std::optional<cl_int> divide(AutomaticQueue& members, CommandQueue& queue, Kernel& kernel, const NDRange& range,
                             WaitList wait, Event** event) {
  const std::uint64_t begin_ns = host_time_ns();
  const Extent& global = range.global;
  DividedTurn turn(members, kernel, static_cast<double>(global[0] * global[1] * global[2]), wait);
  const std::vector<Placement::Part> wanted = turn.parts();
  if (wanted.empty()) return std::nullopt;
  const auto divisible = Divisible::make(queue, kernel, range, wanted);
  if (!divisible) return std::nullopt;
  const auto gather = [](GatheredInputs& inputs, const auto& plan) REQUIRES(kMemoryMutex) {
    const MutexLock lock(plan.kernel.mutex());
    plan.uses(inputs);
  };
  const auto gather_whole = [&](GatheredInputs& inputs) REQUIRES(kMemoryMutex) {
    gather(inputs, KernelPlan{{}, CL_COMMAND_NDRANGE_KERNEL, kernel, range});
  };
  const std::vector<SlicedKernelPlan> plans = divisible->plans();
  const auto gather_part = [&](GatheredInputs& inputs, std::size_t at) REQUIRES(kMemoryMutex) {
    const SlicedKernelPlan& plan = plans[at];
    gather(inputs, plan);
  };
  if (!turn.place(divisible->parts(), gather_whole, gather_part)) return std::nullopt;
  const cl_int error = turn.send(std::span(plans), event != nullptr);
  if (error != CL_SUCCESS || event == nullptr) return error;
  Ref<Event> end = turn.join();
  turn.end();
  if (!end) return CL_DEVICE_NOT_AVAILABLE;
  if (queue.profiling()) make_division_event(*end, {}, turn.events(), kernel.info().name, begin_ns);
  turn.returns(*end);
  *event = end.detach();
  return CL_SUCCESS;
}

}  // namespace

cl_int enqueue_kernel_on_members(CommandQueue& queue, Kernel& kernel, const NDRange& range, WaitList wait,
                                 Event** event) {
  AutomaticQueue& members = *AutomaticQueue::of(queue);
  if (is_wanted() && kernel.may_be_long() && !kernel.program().has_variables()) {
    if (const auto result = divide(members, queue, kernel, range, wait, event)) return *result;
  }
  return enqueue_kernel(queue, kernel, range, CL_COMMAND_NDRANGE_KERNEL, wait, event);
}

}  // namespace remotecl
