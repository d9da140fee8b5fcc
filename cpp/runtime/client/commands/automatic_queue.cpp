#include "runtime/client/commands/automatic_queue.h"

#include <algorithm>

namespace remotecl {

AutomaticQueue::AutomaticQueue(CommandQueue& whole)
    : whole_(whole),
      context_places_(Placement::instance().add_devices(whole.context().devices())),
      members_(whole.device().members().size()),
      last_(members_.size()) {
  Placement::instance().watch(tasks_);
}

AutomaticQueue::~AutomaticQueue() { Placement::instance().forget(tasks_); }

std::size_t AutomaticQueue::place_of(const Device& device) const {
  return static_cast<std::size_t>(std::find(devices().begin(), devices().end(), &device) - devices().begin());
}

CommandQueue& AutomaticQueue::member(std::size_t place) {
  Member& at = members_[place];
  if (at.queue) return *at.queue;
  at.queue = make_ref<CommandQueue>(whole_, *devices()[place]);
  std::vector<Event*> waits;
  for (const Ref<Event>& event : barrier_) waits.push_back(event.get());
  if (!waits.empty()) enqueue_marker(*at.queue, true, CL_COMMAND_BARRIER, waits, nullptr);
  return *at.queue;
}

std::size_t AutomaticQueue::likely_place() {
  if (last_ < members_.size() && !devices()[last_]->lost()) return last_;
  const auto at =
      std::find_if(devices().begin(), devices().end(), [](const Device* device) { return !device->lost(); });
  return static_cast<std::size_t>(at - devices().begin());
}

void AutomaticQueue::flush() {
  std::vector<Ref<CommandQueue>> queues;
  {
    const MutexLock lock(mutex_);
    for (const Member& member : members_) {
      if (member.queue) queues.push_back(member.queue);
    }
  }
  for (const auto& queue : queues) queue->flush();
}

cl_int AutomaticQueue::finish() {
  flush();  // so that no member waits for another one that has not begun
  cl_int result = CL_SUCCESS;
  for (std::size_t place = 0; place < devices().size(); ++place) {
    Ref<CommandQueue> queue;
    std::uint64_t last = 0;
    {
      const MutexLock lock(mutex_);
      Member& member = members_[place];
      if (!member.queue || member.is_loss_reported) continue;
      last = member.queue->last_sequence();
      if (member.finished == last && member.queue->pending_reads().none()) continue;
      queue = member.queue;
    }
    const cl_int code = queue->finish();
    if (code != CL_SUCCESS && result == CL_SUCCESS) result = code;
    const MutexLock lock(mutex_);
    Member& member = members_[place];
    if (queue->ended_sequence() >= last) member.finished = last;
    member.is_loss_reported = devices()[place]->lost();
  }
  return result;
}

void AutomaticQueue::let_go() {
  std::vector<Member> members(devices().size());
  std::vector<Ref<Event>> barrier;
  Placement::instance().forget(tasks_);
  const MutexLock lock(mutex_);
  members.swap(members_);
  barrier.swap(barrier_);
  last_ = members_.size();
}

std::vector<Ref<Event>> AutomaticQueue::mark_all() {
  std::vector<Ref<Event>> markers;
  for (std::size_t place = 0; place < members_.size(); ++place) {
    if (!members_[place].queue || devices()[place]->lost()) continue;
    Event* marker = nullptr;
    if (enqueue_marker(*members_[place].queue, false, CL_COMMAND_MARKER, {}, &marker) == CL_SUCCESS) {
      markers.push_back(Ref<Event>::adopt(marker));
    }
  }
  return markers;
}

std::vector<Ref<CommandQueue>> AutomaticQueue::all_of(std::span<Device* const> devices,
                                                      std::vector<Ref<Event>>& before) {
  const MutexLock lock(mutex_);
  if (whole_.in_order()) {
    for (Ref<Event>& marker : mark_all()) before.push_back(std::move(marker));
  }
  std::vector<Ref<CommandQueue>> queues;
  for (const Device* device : devices) queues.emplace_back(&member(place_of(*device)));
  last_ = place_of(*devices.front());
  return queues;
}

cl_int AutomaticQueue::enqueue_point(bool is_barrier, cl_command_type type, WaitList wait, Event** event) {
  const MutexLock lock(mutex_);
  const std::size_t first = likely_place();
  if (first == members_.size()) return CL_DEVICE_NOT_AVAILABLE;
  CommandQueue& own = member(first);
  const auto made = std::count_if(members_.begin(), members_.end(), [](const Member& one) { return bool(one.queue); });
  if (made == 1 && !is_barrier) return enqueue_marker(own, is_barrier, type, wait, event);
  std::vector<Ref<Event>> markers;
  std::vector<Event*> waits(wait.begin(), wait.end());
  if (wait.empty()) markers = mark_all();
  for (const Ref<Event>& marker : markers) waits.push_back(marker.get());
  Event* point = nullptr;
  const cl_int code = enqueue_marker(own, is_barrier, type, waits, &point);
  if (code != CL_SUCCESS) return code;
  const Ref<Event> kept = Ref<Event>::adopt(point);
  if (event != nullptr) *event = Ref<Event>(kept).detach();
  if (!is_barrier) return CL_SUCCESS;
  for (std::size_t place = 0; place < members_.size(); ++place) {
    if (place == first || !members_[place].queue || devices()[place]->lost()) continue;
    enqueue_marker(*members_[place].queue, true, CL_COMMAND_BARRIER, waits, nullptr);
  }
  std::erase_if(barrier_, [](const Ref<Event>& old) { return old->ended(); });
  barrier_.push_back(kept);
  return CL_SUCCESS;
}

Ref<CommandQueue> make_automatic_queue(Context& context, Device& device, cl_command_queue_properties properties,
                                       std::vector<cl_queue_properties> property_list) {
  auto queue = make_ref<CommandQueue>(CommandQueue::Automatic(), context, device, properties, std::move(property_list));
  queue->set_members(std::make_unique<AutomaticQueue>(*queue));
  return queue;
}

AutomaticTurn::AutomaticTurn(AutomaticQueue& queue, WaitList wait)
    : queue_(queue), lock_(queue.mutex_), waits_(wait.begin(), wait.end()) {}

AutomaticTurn::~AutomaticTurn() {
  if (lock_.owns_lock() && placed_.ticket != 0) Placement::instance().not_sent(placed_);
}

cl_int AutomaticTurn::choose_holder() NO_THREAD_SAFETY_ANALYSIS {
  std::size_t best = queue_.likely_place();
  if (best == queue_.members_.size()) return CL_DEVICE_NOT_AVAILABLE;
  const Context& context = queue_.whole_.context();
  const auto bytes_at = [&](std::size_t place) NO_THREAD_SAFETY_ANALYSIS {
    return queue_.inputs_.bytes_at(context.location(*queue_.devices()[place]));
  };
  std::uint64_t most = bytes_at(best);
  for (std::size_t place = 0; place < queue_.members_.size(); ++place) {
    if (queue_.devices()[place]->lost()) continue;
    const std::uint64_t bytes = bytes_at(place);
    if (bytes <= most) continue;
    most = bytes;
    best = place;
  }
  return choose(best);
}

cl_int AutomaticTurn::choose_for(Kernel& kernel, double size) NO_THREAD_SAFETY_ANALYSIS {
  kernel_ = &kernel;
  const std::size_t likely = queue_.likely_place();
  Device* const told = likely < queue_.members_.size() ? queue_.devices()[likely] : nullptr;
  const bool in_order = queue_.whole_.in_order();
  placed_ = Placement::instance().place(queue_.tasks_,
                                        {kernel, size, queue_.devices(), queue_.inputs_, waits_, in_order, told});
  return placed_.device == nullptr ? CL_DEVICE_NOT_AVAILABLE : choose(queue_.place_of(*placed_.device));
}

cl_int AutomaticTurn::choose(std::size_t place) NO_THREAD_SAFETY_ANALYSIS {
  member_ = Ref<CommandQueue>(&queue_.member(place));
  const std::size_t last = std::exchange(queue_.last_, place);
  if (!queue_.whole_.in_order() || last == place || last >= queue_.members_.size()) return CL_SUCCESS;
  CommandQueue& before = queue_.member(last);
  const bool has_ended = before.ended_sequence() >= before.last_sequence() && before.pending_reads().none();
  if (has_ended || before.session().lost()) return CL_SUCCESS;
  Event* marker = nullptr;
  // If its server was lost just now, nothing runs there that could be waited for.
  if (enqueue_marker(before, false, CL_COMMAND_MARKER, {}, &marker) != CL_SUCCESS) return CL_SUCCESS;
  before_ = Ref<Event>::adopt(marker);
  waits_.push_back(marker);
  return CL_SUCCESS;
}

void AutomaticTurn::sent(std::uint64_t sequence, Event* event) NO_THREAD_SAFETY_ANALYSIS {
  if (placed_.ticket == 0) return;
  Placement::instance().sent(queue_.tasks_, placed_, *kernel_, *member_, sequence, event);
  placed_.ticket = 0;
}

void AutomaticTurn::end() { lock_.unlock(); }

}  // namespace remotecl
