#include "extras/scheduling/placement/automatic_queue.h"
#include "extras/scheduling/split/split_kernel.h"
#include "icd/enqueue_checks.h"
#include "icd/wait_list.h"
#include "remotecl/remotecl.h"

using namespace remotecl;

namespace {

using icd::require;

// The queues that the pieces go to: a queue on the automatic device stands for one on each member that has the kernel.
class Targets {
 public:
  Targets(std::span<const cl_command_queue> handles, Kernel& kernel) {
    for (cl_command_queue handle : handles) {
      CommandQueue& queue = icd::object<CommandQueue>(handle);
      require(&queue.context() == &kernel.context(), CL_INVALID_CONTEXT);
      require(!queue.device().lost(), CL_DEVICE_NOT_AVAILABLE);
      named_.push_back(&queue);
    }
  }

  NDRange checked_range(Kernel& kernel, cl_uint dimension, cl_uint work_dimensions, const size_t* offset,
                        const size_t* global, const size_t* local) const {
    NDRange range{};
    for (CommandQueue* queue : named_) {
      range = icd::checked_range(*queue, kernel, work_dimensions, offset, global, local);
    }
    require(dimension < range.dimensions, CL_INVALID_VALUE);
    return range;
  }
  // Reserves the launch's place in the order of queues on the automatic device. Nothing may be refused afterwards.
  void take_place(Kernel& kernel) {
    for (CommandQueue* queue : named_) {
      if (AutomaticQueue* const automatic = AutomaticQueue::of(*queue)) {
        add_members(*automatic, queue->device(), kernel.program());
      } else {
        queues_.push_back(queue);
      }
    }
    require(!queues_.empty(), CL_DEVICE_NOT_AVAILABLE);
  }

  std::span<CommandQueue* const> queues() const { return queues_; }
  std::vector<Event*> wait(WaitList wait) const {
    std::vector<Event*> all(wait.begin(), wait.end());
    for (const Ref<Event>& event : before_) all.push_back(event.get());
    return all;
  }

 private:
  void add_members(AutomaticQueue& automatic, const Device& device, Program& program) {
    std::vector<Device*> able;
    for (Device* member : device.members()) {
      if (!member->lost() && program.ready_on(*member)) able.push_back(member);
    }
    if (able.empty()) return;
    for (Ref<CommandQueue>& member : automatic.all_of(able, before_)) {
      queues_.push_back(member.get());
      kept_.push_back(std::move(member));
    }
    for (Device* member : device.members()) member->session().submit();  // the marks in `before_`
  }

  std::vector<CommandQueue*> named_;
  std::vector<CommandQueue*> queues_;
  std::vector<Ref<CommandQueue>> kept_;
  std::vector<Ref<Event>> before_;
};

// Never destroyed: threads may outlive main().
SpeedTable& speeds() {
  static SpeedTable& speeds = *new SpeedTable;
  return speeds;
}

std::vector<Slice> slices_of(std::span<const remotecl_slice> given) {
  std::vector<Slice> slices;
  for (const remotecl_slice& one : given) {
    slices.push_back({one.argument, one.overwrites != 0, one.item_bytes, one.before, one.after});
  }
  return slices;
}

}  // namespace

cl_int remotecl_enqueue_split(cl_uint queue_count, const cl_command_queue* queues, cl_kernel kernel_handle,
                              cl_uint dimension, cl_uint work_dimensions, const size_t* offset, const size_t* global,
                              const size_t* local, cl_uint slice_count, const remotecl_slice* slices,
                              cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  return icd::enter([&] {
    require(queue_count != 0 && queues != nullptr && (slice_count == 0 || slices != nullptr), CL_INVALID_VALUE);
    Kernel& kernel = icd::object<Kernel>(kernel_handle);
    icd::Dependencies dependencies(kernel.context(), wait_count, wait_list, event);
    Targets targets(std::span(queues, queue_count), kernel);
    const NDRange range = targets.checked_range(kernel, dimension, work_dimensions, offset, global, local);
    const std::vector<Slice> parts = slices_of(std::span(slices, slice_count));
    const cl_int error = SplitKernel::check_slices(kernel, parts);
    require(error == CL_SUCCESS, error);
    targets.take_place(kernel);
    const std::vector<Event*> wait = targets.wait(dependencies.wait());
    if (icd::is_empty(range)) {
      return dependencies.finish(
          enqueue_marker(*targets.queues().front(), false, CL_COMMAND_NDRANGE_KERNEL, wait, dependencies.event()));
    }
    SplitKernel split(speeds(), targets.queues(), kernel, range, dimension, parts, wait);
    return dependencies.finish(split.run(dependencies.event()));
  });
}
