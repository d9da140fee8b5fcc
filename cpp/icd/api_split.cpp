#include "icd/enqueue_checks.h"
#include "icd/json_result.h"
#include "icd/root.h"
#include "icd/wait_list.h"
#include "remotecl/remotecl.h"
#include "runtime/client/commands/automatic_queue.h"
#include "runtime/client/split/proven_slices.h"
#include "runtime/client/split/split_kernel.h"

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

  // The queues that the application named.
  std::span<CommandQueue* const> named() const { return named_; }
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

NDRange checked_range(const Targets& targets, Kernel& kernel, cl_uint dimension, cl_uint work_dimensions,
                      const size_t* offset, const size_t* global, const size_t* local) {
  NDRange range{};
  for (CommandQueue* queue : targets.named()) {
    range = icd::checked_range(*queue, kernel, work_dimensions, offset, global, local);
  }
  require(dimension < range.dimensions, CL_INVALID_VALUE);
  return range;
}

std::vector<Slice> slices_of(std::span<const remotecl_slice> given) {
  std::vector<Slice> slices;
  for (const remotecl_slice& one : given) {
    slices.push_back({one.argument, one.overwrites != 0, one.item_bytes, one.before, one.after});
  }
  return slices;
}

// The slices of the call or, if it gives none, those declared for the kernel.
std::vector<Slice> declared_slices(Kernel& kernel, cl_uint dimension, std::span<const remotecl_slice> given) {
  if (!given.empty()) return slices_of(given);
  DeclaredSlices declared = kernel.slices();
  return declared.dimension == dimension ? std::move(declared.slices) : std::vector<Slice>();
}

// The declared slices, if they suffice; if none are declared, the proven ones.
std::vector<Slice> checked_slices(const Targets& targets, Kernel& kernel, const NDRange& range, cl_uint dimension,
                                  std::span<const remotecl_slice> given) {
  std::vector<Slice> slices = declared_slices(kernel, dimension, given);
  const cl_int error = SplitKernel::check_slices(kernel, slices);
  if (error == CL_SUCCESS) return slices;
  require(slices.empty(), error);
  ProvenSlices proven = prove_slices(kernel, targets.named(), range, dimension);
  require(proven.why_not.empty(), CL_INVALID_OPERATION);
  return std::move(proven.slices);
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
    const NDRange range = checked_range(targets, kernel, dimension, work_dimensions, offset, global, local);
    const std::vector<Slice> parts = checked_slices(targets, kernel, range, dimension, std::span(slices, slice_count));
    targets.take_place(kernel);
    const std::vector<Event*> wait = targets.wait(dependencies.wait());
    if (icd::is_empty(range)) {
      return dependencies.finish(
          enqueue_marker(*targets.queues().front(), false, CL_COMMAND_NDRANGE_KERNEL, wait, dependencies.event()));
    }
    SplitKernel split(icd::root().speeds, targets.queues(), kernel, range, dimension, parts, wait);
    return dependencies.finish(split.run(dependencies.event()));
  });
}

char* remotecl_explain_split(cl_uint queue_count, const cl_command_queue* queues, cl_kernel kernel_handle,
                             cl_uint dimension, cl_uint work_dimensions, const size_t* offset, const size_t* global) {
  return icd::create(nullptr, [&]() -> char* {
    require(queue_count != 0 && queues != nullptr, CL_INVALID_VALUE);
    Kernel& kernel = icd::object<Kernel>(kernel_handle);
    const Targets targets(std::span(queues, queue_count), kernel);
    const NDRange range = checked_range(targets, kernel, dimension, work_dimensions, offset, global, nullptr);
    const std::vector<Slice> declared = declared_slices(kernel, dimension, {});
    if (!declared.empty() || SplitKernel::check_slices(kernel, {}) == CL_SUCCESS) return nullptr;
    const ProvenSlices proven = prove_slices(kernel, targets.named(), range, dimension);
    return proven.why_not.empty() ? nullptr : copy_json(proven.why_not);
  });
}

cl_int remotecl_set_kernel_slices(cl_kernel kernel_handle, cl_uint dimension, cl_uint slice_count,
                                  const remotecl_slice* slices) {
  return icd::enter([&] {
    Kernel& kernel = icd::object<Kernel>(kernel_handle);
    require(dimension < 3 && (slice_count == 0 || slices != nullptr), CL_INVALID_VALUE);
    DeclaredSlices declared{dimension, slices_of(std::span(slices, slice_count))};
    const cl_int error = SplitKernel::check_form(kernel, declared.slices);
    if (error == CL_SUCCESS) kernel.set_slices(std::move(declared));
    return error;
  });
}
