#include "runtime/client/commands/divided_turn.h"

#include <algorithm>

namespace remotecl {

DividedTurn::DividedTurn(AutomaticQueue& queue, Kernel& kernel, double size, WaitList wait)
    : queue_(queue),
      placement_(queue.placement_),
      lock_(queue.mutex_),
      kernel_(kernel),
      size_(size),
      waits_(wait.begin(), wait.end()) {}

DividedTurn::~DividedTurn() {
  for (std::size_t at = sent_.size(); at < divided_.parts.size(); ++at) placement_.not_sent(divided_.parts[at]);
  end();
}

Placement::Launch DividedTurn::launch() const NO_THREAD_SAFETY_ANALYSIS {
  return {kernel_, size_, queue_.devices(), queue_.inputs_, waits_, queue_.whole_.in_order(), nullptr, nullptr};
}

bool DividedTurn::place_gathered(std::span<const Sized> parts, std::uint64_t bytes,
                                 const std::vector<std::size_t>& ends) NO_THREAD_SAFETY_ANALYSIS {
  const auto all = queue_.inputs_.accesses();
  std::vector<Placement::PartLaunch> launches;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const std::size_t end = at + 1 < ends.size() ? ends[at + 1] : all.size();
    const Placement::Part& part = parts[at].part;
    launches.push_back({part.device, part.share, parts[at].size, all.subspan(ends[at], end - ends[at])});
  }
  divided_ = placement_.place_parts(queue_.tasks_, launch(), all.first(ends.front()), bytes, launches);
  if (divided_.parts.empty()) return false;
  std::vector<Device*> devices;
  for (const Placement::Placed& part : divided_.parts) devices.push_back(part.device);
  members_ = queue_.members_for_parts(devices, before_);
  for (const Ref<Event>& event : before_) waits_.push_back(event.get());
  queue_.home_ = queue_.place_of(*devices.front());
  return true;
}

Ref<Event> DividedTurn::join() NO_THREAD_SAFETY_ANALYSIS {
  std::vector<Event*> ends;
  for (const Ref<Event>& event : sent_) ends.push_back(event.get());
  return AutomaticQueue::add_point(*members_.front(), false, CL_COMMAND_NDRANGE_KERNEL, ends);
}

void DividedTurn::end() {
  if (!lock_.owns_lock()) return;
  lock_.unlock();
  if (members_.empty()) return;
  // Also the members without a part, because markers in `before_` may be theirs.
  for (Device* device : queue_.devices()) device->session().submit();
}

}  // namespace remotecl
