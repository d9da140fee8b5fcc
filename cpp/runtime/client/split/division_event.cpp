#include "runtime/client/split/division_event.h"

#include "runtime/client/support/callback_thread.h"

namespace remotecl {

Ref<Event> division_event(const Ref<Event>& marker, const DivisionTimes& ended, std::vector<Ref<Event>> pieces,
                          const std::string& kernel, std::uint64_t begin_ns) {
  struct Ending {
    Ref<Event> marker, event;
    std::vector<Ref<Event>> pieces;
    DivisionTimes times;
  };
  CommandQueue& queue = *marker->queue();
  auto ending = std::make_shared<Ending>(
      Ending{marker, make_ref<Event>(queue, CL_COMMAND_NDRANGE_KERNEL, false), std::move(pieces), ended});
  ending->event->description().enqueued_ns = begin_ns;
  ending->event->description().kernel_name = kernel;
  queue.host_work_begins();
  Ref<Event> event = ending->event;
  const auto end = [ending] {
    CommandQueue& queue = *ending->marker->queue();
    for (const Ref<Event>& piece : ending->pieces) {
      if (piece) ending->times.add(*piece);
    }
    const auto times = ending->times.by_clock_of(queue.device());
    ending->event->complete(ending->marker->status(), times ? &*times : nullptr);
    queue.host_work_ended();
  };
  const auto post = [end] { post_host_work(end); };
  if (!marker->at_end(post)) {
    post();
  } else {
    marker->session()->submit_now();
  }
  return event;
}

}  // namespace remotecl
