#include "extras/scheduling/split/split_kernel.h"

#include <algorithm>

#include "extras/scheduling/placement/kernel_key.h"
#include "extras/scheduling/split/sliced_kernel_plan.h"

namespace remotecl {
namespace {

// What a piece costs beside its work: messages to its server and back, and a driver's launch.
constexpr schedule::Seconds kLaunch = 200e-6;
// How fast slices move from server to server. A guess that is too low only leaves a little more work where its bytes
// are.
constexpr double kBytesPerSecond = 1e9;

// Equal for launches whose items take the same time: of kernels of the same name, from programs of the same text and
// options, that are divided along the same dimension.
std::string speed_key(Kernel& kernel, cl_uint dimension, const Device& device) {
  return kernel_key(kernel, {}) + '\0' + kernel.program().build_info(device).options + '\0' + std::to_string(dimension);
}

std::vector<const Device*> devices_of(std::span<CommandQueue* const> queues) {
  std::vector<const Device*> devices;
  for (const CommandQueue* queue : queues) devices.push_back(&queue->device());
  return devices;
}

}  // namespace

SplitKernel::SplitKernel(SpeedTable& speeds, std::span<CommandQueue* const> queues, Kernel& kernel,
                         const NDRange& range, cl_uint dimension, std::span<const Slice> slices, WaitList wait)
    : kernel_(kernel),
      range_(range, kernel, dimension, devices_of(queues)),
      key_(speed_key(kernel, dimension, queues.front()->device())),
      speeds_(speeds),
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
  std::vector<bool> is_sliced(arguments.size());
  for (const Slice& slice : slices) {
    if (slice.argument >= is_sliced.size() || is_sliced[slice.argument]) return CL_INVALID_ARG_INDEX;
    if (slice.item_bytes == 0) return CL_INVALID_VALUE;
    is_sliced[slice.argument] = true;
    const MemoryObject* const memory = arguments[slice.argument].memory.get();
    if (arguments[slice.argument].kind != ArgumentKind::kMemory || memory == nullptr || memory->image() != nullptr ||
        memory->network_device() != nullptr) {
      return CL_INVALID_ARG_VALUE;
    }
    const bool has_neighbours = slice.before != 0 || slice.after != 0;
    if (has_neighbours && kernel.may_write(slice.argument)) return CL_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_sliced[i] && kernel.may_write(i)) return CL_INVALID_OPERATION;
  }
  return kernel.svm_memory().empty() ? CL_SUCCESS : CL_INVALID_OPERATION;
}

cl_int SplitKernel::run(Event** event) {
  for (;;) {
    if (const cl_int error = fill(); error != CL_SUCCESS) return give_up(error);
    if (division_.all_taken()) break;
    if (const cl_int error = take_ends(); error != CL_SUCCESS) return give_up(error);
  }
  speeds_.set(key_, devices(), division_.learned(time(host_time_ns())));
  return join(event);
}

std::vector<const Device*> SplitKernel::devices() const {
  std::vector<const Device*> devices;
  for (const Lane& lane : lanes_) devices.push_back(&lane.queue->device());
  return devices;
}

schedule::Division SplitKernel::make_division() const {
  double item_bytes = 0;
  for (const Slice& slice : slices_) item_bytes += slice.overwrites ? 0 : static_cast<double>(slice.item_bytes);
  return {
      speeds_.history(key_, devices()), range_.items(), range_.granularity(), {kLaunch, item_bytes / kBytesPerSecond}};
}

cl_int SplitKernel::fill() {
  for (const std::size_t ahead : schedule::Division::kFilling) {
    for (std::uint32_t at = 0; at < lanes_.size(); ++at) {
      Lane& lane = lanes_[at];
      if (ahead > division_.pieces_ahead(at) || lane.pieces >= ahead) continue;
      const schedule::Piece piece = division_.take(at, time(host_time_ns()));
      if (piece.count == 0) continue;
      if (const cl_int error = enqueue(piece); error != CL_SUCCESS) return error;
      ++lane.pieces;
    }
  }
  for (const Lane& lane : lanes_) lane.queue->flush();
  return CL_SUCCESS;
}

cl_int SplitKernel::enqueue(const schedule::Piece& piece) {
  const NDRange part = range_.part(piece);
  const std::uint64_t begin = part.offset[range_.dimension()];
  const SlicedKernelPlan plan{{{}, CL_COMMAND_NDRANGE_KERNEL, kernel_, part}, slices_, begin, begin + piece.count};
  Event* event = nullptr;
  const cl_int error = submit(*lanes_[piece.device].queue, plan, wait_, &event);
  if (error != CL_SUCCESS) return error;
  pieces_.push_back({piece, Ref<Event>::adopt(event)});
  PieceEnds::note(ends_, *event, pieces_.size() - 1);
  return CL_SUCCESS;
}

cl_int SplitKernel::take_ends() {
  cl_int error = CL_SUCCESS;
  for (const PieceEnds::End& end : ends_->take()) {
    InFlight& piece = pieces_[end.piece];
    if (const cl_int status = piece.event->status(); status < 0) error = status;
    division_.ended(piece.piece, time(end.time_ns));
    --lanes_[piece.piece.device].pieces;
    times_.add(*piece.event);
    piece.event = {};
  }
  return error;
}

cl_int SplitKernel::give_up(cl_int error) {
  for (const Lane& lane : lanes_) lane.queue->flush();
  while (std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.pieces > 0; })) take_ends();
  return error;
}

cl_int SplitKernel::join(Event** event) {
  std::vector<Event*> last;
  for (const InFlight& piece : pieces_) {
    if (piece.event) last.push_back(piece.event.get());
  }
  CommandQueue& queue = *lanes_.front().queue;
  const bool is_profiled = event != nullptr && queue.profiling();
  const cl_int error = enqueue_marker(queue, false, CL_COMMAND_NDRANGE_KERNEL, last, event);
  if (error != CL_SUCCESS || !is_profiled) return error;
  std::vector<Ref<Event>> pieces;
  for (InFlight& piece : pieces_) pieces.push_back(std::move(piece.event));
  make_division_event(**event, times_, std::move(pieces), kernel_.info().name, begin_ns_);
  return CL_SUCCESS;
}

}  // namespace remotecl
