#include "runtime/client/commands/divided_turn.h"

#include <algorithm>

#include "runtime/client/session/session_group.h"

namespace remotecl {

DividedTurn::DividedTurn(AutomaticQueue& queue, Kernel& kernel, double size, WaitList wait)
    : queue_(queue), placement_(queue.placement_), lock_(queue.mutex()), kernel_(kernel), size_(size), given_(wait) {}

DividedTurn::~DividedTurn() {
  for (std::size_t at = sent_.size(); at < divided_.parts.size(); ++at) placement_.not_sent(divided_.parts[at]);
  end();
}

Placement::Launch DividedTurn::launch() const {
  return {kernel_, size_, queue_.devices(), queue_.inputs_, given_, queue_.whole_.in_order(), nullptr, nullptr};
}

bool DividedTurn::place_gathered(std::span<const Sized> parts, std::uint64_t bytes,
                                 const std::vector<std::size_t>& ends) {
  const auto all = queue_.inputs_.accesses();
  std::vector<Placement::PartLaunch> launches;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const std::size_t end = at + 1 < ends.size() ? ends[at + 1] : all.size();
    const Placement::Part& part = parts[at].part;
    launches.push_back({part.device, part.share, parts[at].size, all.subspan(ends[at], end - ends[at])});
  }
  divided_ = placement_.place_parts(queue_.tasks_, launch(), all.first(ends.front()), bytes, launches);
  return !divided_.parts.empty();
}

void DividedTurn::take_members(bool joins, std::optional<ServerPair>& missing) {
  std::vector<Device*> devices;
  for (const Placement::Placed& part : divided_.parts) devices.push_back(part.device);
  before_.clear();
  members_ = queue_.members_for_parts(devices, before_, missing);
  if (missing) return;
  waits_.assign(given_.begin(), given_.end());
  for (const Ref<Event>& event : before_) waits_.push_back(event.get());
  queue_.home_ = queue_.index_of(*devices.front());
  missing = link_for_events(joins);
}

std::optional<ServerPair> DividedTurn::link_for_events(bool joins) const {
  PeerLinks& links = queue_.whole_.context().group().links;
  Session& first = members_.front()->session();
  for (const Ref<CommandQueue>& member : members_) {
    Session& session = member->session();
    for (const Event* event : waits_) {
      Session* const server = event->session();
      const bool is_awaited = server != nullptr && event->status() != CL_COMPLETE;
      if (is_awaited && !links.linked(*server, session)) return ServerPair(server, &session);
    }
    if (joins && !links.linked(session, first)) return ServerPair(&session, &first);
  }
  return std::nullopt;
}

Ref<Event> DividedTurn::join() {
  std::vector<Event*> ends;
  for (const Ref<Event>& event : sent_) ends.push_back(event.get());
  std::optional<ServerPair> none;  // because take_members() has looked
  return AutomaticQueue::add_point(*members_.front(), false, CL_COMMAND_NDRANGE_KERNEL, ends, none);
}

void DividedTurn::end() {
  if (!lock_.owns_lock()) return;
  lock_.unlock();
  if (members_.empty()) return;
  // Also the members without a part, because markers in `before_` may be theirs.
  for (Device* device : queue_.devices()) device->session().submit();
}

}  // namespace remotecl
