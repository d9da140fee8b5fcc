#include "runtime/client/split/split_kernel.h"

#include <algorithm>

#include "runtime/client/split/sliced_kernel_plan.h"
#include "runtime/client/split/speed_table.h"

namespace remotecl {
namespace {

// A device whose speed is known gets the next piece while it works on one.
constexpr unsigned kPiecesAhead = 2;
// Smaller pieces than this part of the range, for each device, would cost more in launches than they balance.
constexpr std::uint64_t kPiecesMax = 100;
// Items of a work-group, in the innermost dimension, where the caller leaves that open.
constexpr std::uint64_t kGroup = 64;

// Gives the range a work-group if the caller has not. Drivers choose one by a launch's size, and some compile for each
// choice, so that pieces of different sizes would cost a compilation each.
NDRange with_group(NDRange range, Kernel& kernel, cl_uint dimension, std::span<CommandQueue* const> queues) {
  const std::uint64_t items = range.global[0];
  if (range.has_local || (dimension == 0 && items < kGroup * queues.size())) return range;
  std::uint64_t group = kGroup;
  for (const CommandQueue* queue : queues) {
    const std::uint64_t limit = kernel.info_on(queue->device()).work_group_size;
    while (limit != 0 && group > limit) group /= 2;
  }
  while (dimension != 0 && items % group != 0) group /= 2;
  range.has_local = true;
  range.local = {group, 1, 1};
  return range;
}

}  // namespace

SplitKernel::SplitKernel(std::span<CommandQueue* const> queues, Kernel& kernel, const NDRange& range, cl_uint dimension,
                         std::span<const Slice> slices, WaitList wait)
    : kernel_(kernel),
      range_(with_group(range, kernel, dimension, queues)),
      group_is_ours_(range_.has_local && !range.has_local),
      dimension_(dimension),
      slices_(slices),
      wait_(wait),
      lanes_([&] {
        std::vector<Lane> lanes;
        for (CommandQueue* queue : queues) lanes.push_back({queue});
        return lanes;
      }()),
      division_(make_division()) {}

cl_int SplitKernel::check_slices(Kernel& kernel, std::span<const Slice> slices) {
  const MutexLock lock(kernel.mutex());
  const auto& arguments = kernel.arguments();
  std::vector<const Slice*> of(arguments.size());
  for (const Slice& slice : slices) {
    if (slice.argument >= of.size() || of[slice.argument] != nullptr) return CL_INVALID_ARG_INDEX;
    of[slice.argument] = &slice;
    const MemoryObject* const memory = arguments[slice.argument].memory.get();
    if (arguments[slice.argument].kind != ArgumentKind::kMemory || memory == nullptr || memory->image() != nullptr) {
      return CL_INVALID_ARG_VALUE;
    }
    const bool has_neighbours = slice.before != 0 || slice.after != 0;
    if (slice.item_bytes == 0 || (has_neighbours && kernel.may_write(slice.argument))) return CL_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i] == nullptr && kernel.may_write(i)) return CL_INVALID_OPERATION;
  }
  return kernel.svm_memory().empty() ? CL_SUCCESS : CL_INVALID_OPERATION;
}

cl_int SplitKernel::run(Event** event) {
  for (;;) {
    if (const cl_int error = fill(); error != CL_SUCCESS) return error;
    if (division_.all_taken()) break;
    if (const cl_int error = take_ends(); error != CL_SUCCESS) return error;
  }
  keep_speeds();
  return join(event);
}

schedule::Division SplitKernel::make_division() const {
  std::vector<double> speeds;
  for (const Lane& lane : lanes_) {
    speeds.push_back(SpeedTable::instance().speed(kernel_.info().name, lane.queue->device()));
  }
  // A device that has not run it yet is taken to be as fast as the mean of the others.
  double sum = 0;
  std::size_t known = 0;
  for (const double speed : speeds) {
    sum += speed;
    known += speed > 0;
  }
  for (double& speed : speeds) {
    if (!(speed > 0)) speed = known == 0 ? 1 : sum / static_cast<double>(known);
  }
  const std::uint64_t items = range_.global[dimension_];
  return {std::move(speeds), items, range_.has_local ? range_.local[dimension_] : 1,
          items / (kPiecesMax * lanes_.size())};
}

cl_int SplitKernel::fill() {
  // Turn by turn, so that at the end no device has two pieces while another has none.
  for (unsigned ahead = 1; ahead <= kPiecesAhead; ++ahead) {
    for (std::uint32_t at = 0; at < lanes_.size(); ++at) {
      Lane& lane = lanes_[at];
      const unsigned allowed = lane.is_measured ? ahead : 1;
      while (lane.pieces < allowed && !division_.all_taken()) {
        if (const cl_int error = enqueue(division_.take(at)); error != CL_SUCCESS) return error;
        ++lane.pieces;
      }
    }
  }
  for (const Lane& lane : lanes_) lane.queue->flush();
  return CL_SUCCESS;
}

cl_int SplitKernel::enqueue(const schedule::Piece& piece) {
  NDRange part = range_;
  part.offset[dimension_] += piece.begin;
  part.global[dimension_] = piece.count;
  // The last piece may end within a group, which not all devices allow.
  if (group_is_ours_ && piece.count % range_.local[dimension_] != 0) part.has_local = false;
  const std::uint64_t begin = part.offset[dimension_];
  const SlicedKernelPlan plan{{{}, CL_COMMAND_NDRANGE_KERNEL, kernel_, part}, slices_, begin, begin + piece.count};
  const std::uint64_t now = host_time_ns();
  Event* event = nullptr;
  const cl_int error = submit(*lanes_[piece.device].queue, plan, wait_, &event);
  if (error != CL_SUCCESS) return error;
  pieces_.push_back({piece, Ref<Event>::adopt(event), now});
  PieceEnds::note(ends_, *event, pieces_.size() - 1);
  return CL_SUCCESS;
}

cl_int SplitKernel::take_ends() {
  cl_int error = CL_SUCCESS;
  for (const PieceEnds::End& end : ends_->take()) {
    InFlight& piece = pieces_[end.piece];
    Lane& lane = lanes_[piece.piece.device];
    if (const cl_int status = piece.event->status(); status < 0) error = status;
    // It began when it was enqueued, or when the one before it ended.
    const std::uint64_t begin_ns = std::max(piece.enqueued_ns, lane.last_end_ns);
    if (end.time_ns > begin_ns) division_.ended(piece.piece, static_cast<double>(end.time_ns - begin_ns) * 1e-9);
    lane.last_end_ns = std::max(lane.last_end_ns, end.time_ns);
    lane.is_measured = true;
    --lane.pieces;
    piece.event = {};
  }
  return error;
}

cl_int SplitKernel::join(Event** event) {
  std::vector<Event*> last;
  for (const InFlight& piece : pieces_) {
    if (piece.event) last.push_back(piece.event.get());
  }
  return enqueue_marker(*lanes_.front().queue, false, CL_COMMAND_NDRANGE_KERNEL, last, event);
}

void SplitKernel::keep_speeds() const {
  for (std::size_t at = 0; at < lanes_.size(); ++at) {
    if (!lanes_[at].is_measured) continue;
    SpeedTable::instance().set(kernel_.info().name, lanes_[at].queue->device(), division_.speeds()[at]);
  }
}

}  // namespace remotecl
