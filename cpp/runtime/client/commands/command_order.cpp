#include "runtime/client/commands/command_order.h"

#include <algorithm>
#include <map>
#include <set>

namespace remotecl {
namespace {

// If a program never waits, the oldest are dropped.
constexpr std::size_t kWaitsMax = 4096;

}  // namespace

// The findings of one call of learn() so far.
struct CommandOrder::Known {
  std::set<EventId> events;
  std::map<const CommandQueue*, std::uint64_t> through;  // of in-order queues

  // The server reports a command's failure before its end. Only the bytes of a later read may overtake both.
  bool has_waiter_of(const Wait& wait) const { return has_end_of_waiter(wait) && !wait.waiter_has_failed(); }

 private:
  bool has_end_of_waiter(const Wait& wait) const {
    if (wait.waiter_queue->ended_sequence() >= wait.waiter_sequence) return true;
    const auto at = through.find(wait.waiter_queue.get());
    if (at != through.end() && at->second >= wait.waiter_sequence) return true;
    return wait.waiter && (wait.waiter->status() == CL_COMPLETE || events.count(wait.waiter->id()) != 0);
  }
};

void CommandOrder::add(CommandQueue& queue, std::uint64_t sequence, Event* own, Event& event) {
  CommandQueue* const other = event.queue();
  if (other == nullptr || (other == &queue && queue.in_order()) || event.sequence() == 0) return;
  const std::uint64_t first = other->in_order() ? 0 : event.sequence();
  push({Ref<CommandQueue>(&queue), sequence, Ref<Event>(own), Ref<CommandQueue>(other), first, event.sequence(),
        event.id()});
}

void CommandOrder::add_all_before(CommandQueue& queue, std::uint64_t sequence, Event* own) {
  const Ref<CommandQueue> both(&queue);
  push({both, sequence, Ref<Event>(own), both, 0, sequence, 0});
}

void CommandOrder::push(Wait wait) {
  if (waits_.size() >= kWaitsMax) {
    std::erase_if(waits_, [](const Wait& old) { return old.queue->ended_sequence() >= old.last; });
    if (waits_.size() >= kWaitsMax) waits_.erase(waits_.begin(), waits_.begin() + kWaitsMax / 2);
  }
  waits_.push_back(std::move(wait));
}

void CommandOrder::learn(const std::function<void(CommandQueue&, std::uint64_t, std::uint64_t)>& has_ended) {
  Known known;
  // One end may imply others, each time of earlier commands.
  for (bool is_news = true; is_news;) {
    is_news = std::erase_if(waits_, [&](const Wait& wait) {
                if (!known.has_waiter_of(wait)) return false;
                if (wait.event != 0) known.events.insert(wait.event);
                if (wait.queue->in_order()) {
                  std::uint64_t& through = known.through[wait.queue.get()];
                  through = std::max(through, wait.last);
                }
                has_ended(*wait.queue, wait.first, wait.last);
                return true;
              }) != 0;
  }
}

}  // namespace remotecl
