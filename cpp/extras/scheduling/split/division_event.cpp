#include "extras/scheduling/split/division_event.h"

namespace remotecl {

void make_division_event(Event& marker, const DivisionTimes& ended, std::vector<Ref<Event>> pieces,
                         const std::string& kernel, std::uint64_t begin_ns) {
  marker.description().waits.clear();  // the pieces
  marker.description().kernel_name = kernel;
  marker.set_times([ended, pieces = std::move(pieces), begin_ns](EventEnd::Profile& times) {
    DivisionTimes all = ended;
    for (const Ref<Event>& piece : pieces) {
      if (piece) all.add(*piece);
    }
    if (!all.times()) return false;
    times = *all.times();
    times[0] = std::min(begin_ns, times[1]);
    return true;
  });
}

}  // namespace remotecl
