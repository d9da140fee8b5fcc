#include "extras/scheduling/placement/automatic_queue.h"

#include <algorithm>

#include "runtime/client/commands/command_plan.h"
#include "runtime/client/session/loss_state.h"

namespace remotecl {
namespace {

std::vector<Event*> pointers(const std::vector<Ref<Event>>& events) {
  std::vector<Event*> result;
  result.reserve(events.size());
  for (const Ref<Event>& event : events) result.push_back(event.get());
  return result;
}

}  // namespace

AutomaticQueue::AutomaticQueue(CommandQueue& whole, Placement& placement)
    : whole_(whole),
      placement_(placement),
      context_ids_(placement_.add_devices(whole.context().devices())),
      members_(whole.device().members().size()),
      last_(members_.size()),
      losses_(LossState::count()),
      home_(members_.size()) {
  placement_.watch(tasks_);
}

AutomaticQueue::~AutomaticQueue() { placement_.forget(tasks_); }

Ref<Event> AutomaticQueue::add_point(CommandQueue& queue, bool is_barrier, cl_command_type type, WaitList wait,
                                     std::optional<ServerPair>& missing) {
  PendingCommand command(queue, type, wait, true);
  missing = command.missing_link();
  if (command.error() != CL_SUCCESS) return nullptr;
  if (wait.empty()) command.waits_for_all();
  if (is_barrier) command.is_barrier(wait.empty());
  send_message(command, EnqueueMarker{0, 0, is_barrier ? 1u : 0u, wait.empty() ? 1u : 0u, {}});
  return command.sent(true);
}

Ref<Event> AutomaticQueue::add_marker(CommandQueue& queue) {
  std::optional<ServerPair> none;
  return add_point(queue, false, CL_COMMAND_MARKER, {}, none);
}

std::size_t AutomaticQueue::index_of(const Device& device) const {
  return static_cast<std::size_t>(std::find(devices().begin(), devices().end(), &device) - devices().begin());
}

CommandQueue* AutomaticQueue::member(std::size_t index, std::optional<ServerPair>& missing) {
  Member& at = members_[index];
  if (at.queue) return at.queue.get();
  auto queue = make_ref<CommandQueue>(whole_, *devices()[index]);
  if (!barrier_.empty()) add_point(*queue, true, CL_COMMAND_BARRIER, pointers(barrier_), missing);
  if (missing) return nullptr;
  at.queue = std::move(queue);
  return at.queue.get();
}

std::size_t AutomaticQueue::likely_member() {
  if (last_ < members_.size() && !devices()[last_]->lost()) return last_;
  const auto at =
      std::find_if(devices().begin(), devices().end(), [](const Device* device) { return !device->lost(); });
  return static_cast<std::size_t>(at - devices().begin());
}

std::size_t AutomaticQueue::home() {
  return home_ < members_.size() && !devices()[home_]->lost() ? home_ : likely_member();
}

void AutomaticQueue::flush() {
  std::vector<Ref<CommandQueue>> queues;
  {
    const MutexLock lock(mutex());
    for (const Member& member : members_) {
      if (member.queue) queues.push_back(member.queue);
    }
  }
  for (const auto& queue : queues) queue->flush();
}

cl_int AutomaticQueue::finish() {
  flush();  // so that no member waits for another one that has not begun
  cl_int result = CL_SUCCESS;
  for (std::size_t index = 0; index < devices().size(); ++index) {
    Ref<CommandQueue> queue;
    std::uint64_t last = 0;
    {
      const MutexLock lock(mutex());
      Member& member = members_[index];
      if (!member.queue || member.is_loss_reported) continue;
      last = member.queue->last_sequence();
      if (member.finished == last && member.queue->pending_reads().none()) continue;
      queue = member.queue;
    }
    const cl_int code = queue->finish();
    if (code != CL_SUCCESS && result == CL_SUCCESS) result = code;
    const MutexLock lock(mutex());
    Member& member = members_[index];
    if (queue->ended_sequence() >= last) member.finished = last;
    member.is_loss_reported = devices()[index]->lost();
  }
  return result;
}

bool AutomaticQueue::owes_host() {
  const MutexLock lock(mutex());
  return std::ranges::any_of(members_, [](const Member& at) { return at.queue && at.queue->owes_host(); });
}

void AutomaticQueue::let_go() {
  std::vector<Member> members(devices().size());
  std::vector<Ref<Event>> barrier;
  placement_.forget(tasks_);
  {
    const MutexLock lock(mutex());
    members.swap(members_);
    barrier.swap(barrier_);
    last_ = home_ = members_.size();
  }
  for (const Member& member : members) {
    if (!member.queue) continue;
    member.queue->learn_end();
    whole_.context().returned_writes().released(*member.queue);
  }
}

std::vector<Ref<Event>> AutomaticQueue::mark_all() {
  std::vector<Ref<Event>> markers;
  for (const Member& member : members_) {
    if (!member.queue) continue;
    if (Ref<Event> marker = add_marker(*member.queue)) markers.push_back(std::move(marker));
  }
  return markers;
}

std::vector<Ref<CommandQueue>> AutomaticQueue::all_of(std::span<Device* const> devices,
                                                      std::vector<Ref<Event>>& before) {
  return with_links([&](std::optional<ServerPair>& missing) -> std::vector<Ref<CommandQueue>> {
    const MutexLock lock(mutex());
    std::vector<Ref<Event>> markers = whole_.in_order() ? mark_all() : std::vector<Ref<Event>>();
    std::vector<Ref<CommandQueue>> queues;
    for (const Device* device : devices) {
      queues.emplace_back(member(index_of(*device), missing));
      if (missing) return {};
    }
    for (Ref<Event>& marker : markers) before.push_back(std::move(marker));
    last_ = index_of(*devices.front());
    is_last_after_all_ = false;  // the division may fail before its end
    return queues;
  });
}

void AutomaticQueue::look_for_losses() {
  const std::uint64_t losses = LossState::count();
  if (std::exchange(losses_, losses) != losses) is_last_after_all_ = false;
}

std::vector<Ref<Event>> AutomaticQueue::before(std::size_t index) {
  look_for_losses();
  if (!is_last_after_all_) return mark_all();
  if (last_ == index || last_ >= members_.size()) return {};
  CommandQueue& last = *members_[last_].queue;
  if (last.ended_sequence() >= last.last_sequence() && last.pending_reads().none()) return {};
  Ref<Event> marker = add_marker(last);
  return marker ? std::vector<Ref<Event>>{std::move(marker)} : mark_all();  // the server was lost just now
}

Ref<Event> AutomaticQueue::add_points(bool is_barrier, cl_command_type type, WaitList wait,
                                      std::optional<ServerPair>& missing) {
  const std::size_t first = likely_member();
  if (first == members_.size()) return nullptr;
  CommandQueue* const own = member(first, missing);
  if (own == nullptr) return nullptr;
  const std::vector<Ref<Event>> markers = wait.empty() ? mark_all() : std::vector<Ref<Event>>();
  std::vector<Event*> waits = pointers(markers);
  waits.insert(waits.end(), wait.begin(), wait.end());
  // The others first: if a link is missing, all of this happens again, and theirs have no event that anybody knows.
  for (std::size_t index = 0; is_barrier && index < members_.size(); ++index) {
    if (index == first || !members_[index].queue) continue;
    add_point(*members_[index].queue, true, CL_COMMAND_BARRIER, waits, missing);
    if (missing) return nullptr;
  }
  Ref<Event> point = add_point(*own, is_barrier, type, waits, missing);
  if (!point || !is_barrier) return point;
  std::erase_if(barrier_, [](const Ref<Event>& old) { return old->ended(); });
  barrier_.push_back(point);
  return point;
}

cl_int AutomaticQueue::enqueue_point(bool is_barrier, cl_command_type type, WaitList wait, Event** event) {
  Ref<Event> point = with_links([&](std::optional<ServerPair>& missing) {
    const MutexLock lock(mutex());
    return add_points(is_barrier, type, wait, missing);
  });
  if (!point) return CL_DEVICE_NOT_AVAILABLE;
  for (Device* device : devices()) device->session().submit();
  if (event != nullptr) *event = point.detach();
  return CL_SUCCESS;
}

// Other threads that enqueue on the same queue wait until the command was sent, but not until it has ended, nor while
// a link is made.
cl_int AutomaticQueue::submit(CommandPlan& plan, WaitList wait) {
  AutomaticTurn turn(*this, wait);
  if (const cl_int error = turn.choose_for(plan); error != CL_SUCCESS) return error;
  return turn.with_links([&](std::optional<ServerPair>& missing) REQUIRES(kAutomaticQueueMutex) {
    cl_int error = turn.take_member(missing);
    if (error == CL_SUCCESS) error = plan.send_to(turn.choice(), missing);
    if (error == CL_SUCCESS) turn.sent(plan);
    return error;
  });
}

AutomaticTurn::AutomaticTurn(AutomaticQueue& queue, WaitList wait)
    : queue_(queue), lock_(queue.mutex()), given_(wait) {}

AutomaticTurn::~AutomaticTurn() {
  if (lock_.owns_lock() && placed_.ticket != 0) queue_.placement_.not_sent(placed_);
}

void AutomaticTurn::gather(CommandPlan& plan) {
  queue_.inputs_.begin(queue_.context_ids_);
  const MutexLock lock(queue_.whole_.context().memory_mutex());
  plan.will_use(queue_.inputs_);
}

cl_int AutomaticTurn::choose_for(CommandPlan& plan) {
  if (plan.prepares_kernels()) return choose(queue_.home());
  gather(plan);
  Kernel* const kernel = plan.kernel();
  return kernel == nullptr ? choose_holder() : choose_for(*kernel, plan.work_items());
}

cl_int AutomaticTurn::choose_holder() {
  std::size_t best = queue_.likely_member();
  if (best == queue_.members_.size()) return CL_DEVICE_NOT_AVAILABLE;
  const Context& context = queue_.whole_.context();
  const auto bytes_at = [&](std::size_t index) REQUIRES(kAutomaticQueueMutex) {
    return queue_.inputs_.bytes_at(context.location(*queue_.devices()[index]));
  };
  std::uint64_t most = bytes_at(best);
  for (std::size_t index = 0; index < queue_.members_.size(); ++index) {
    if (queue_.devices()[index]->lost()) continue;
    const std::uint64_t bytes = bytes_at(index);
    if (bytes <= most) continue;
    most = bytes;
    best = index;
  }
  return choose(most == 0 ? queue_.home() : best);
}

cl_int AutomaticTurn::choose_for(Kernel& kernel, double size) {
  Program& program = kernel.program();
  if (Device* only = queue_.inputs_.only_device()) [[unlikely]] {
    const std::size_t index = queue_.index_of(*only);
    if (index >= queue_.members_.size()) return CL_INVALID_MEM_OBJECT;
    return program.has_variables() && !program.keep_on(*only) ? CL_INVALID_OPERATION : choose(index);
  }
  kernel_ = &kernel;
  placed_ = place(kernel, size);
  if (program.has_variables()) [[unlikely]] {
    while (placed_.device != nullptr && !program.keep_on(*placed_.device)) {
      queue_.placement_.not_sent(placed_);  // another thread was faster
      placed_ = place(kernel, size);
    }
  }
  return placed_.device == nullptr ? CL_DEVICE_NOT_AVAILABLE : choose(queue_.index_of(*placed_.device));
}

Placement::Placed AutomaticTurn::place(Kernel& kernel, double size) {
  const std::size_t likely = queue_.likely_member();
  Device* const named = likely < queue_.members_.size() ? queue_.devices()[likely] : nullptr;
  return queue_.placement_.place(queue_.tasks_, {kernel, size, queue_.devices(), queue_.inputs_, given_,
                                                 queue_.whole_.in_order(), named, kernel.program().keeper()});
}

cl_int AutomaticTurn::choose(std::size_t index) {
  if (index >= queue_.members_.size()) return CL_DEVICE_NOT_AVAILABLE;
  index_ = index;
  return CL_SUCCESS;
}

cl_int AutomaticTurn::take_member(std::optional<ServerPair>& missing) {
  member_ = Ref<CommandQueue>(queue_.member(index_, missing));
  if (!member_) return CL_DEVICE_NOT_AVAILABLE;
  waits_.assign(given_.begin(), given_.end());
  if (!queue_.whole_.in_order()) return CL_SUCCESS;
  before_ = queue_.before(index_);
  for (const Ref<Event>& event : before_) waits_.push_back(event.get());
  return CL_SUCCESS;
}

void AutomaticTurn::sent(const CommandPlan& plan) {
  queue_.last_ = index_;
  queue_.is_last_after_all_ = true;
  if (placed_.ticket == 0) return;
  queue_.home_ = index_;
  queue_.placement_.sent(queue_.tasks_, placed_, *kernel_, *member_, plan.sequence(), plan.event());
  placed_.ticket = 0;
}

}  // namespace remotecl
