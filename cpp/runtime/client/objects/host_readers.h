#pragma once

#include <vector>

#include "runtime/client/objects/event.h"

namespace remotecl {

// Transfers that still read a buffer's copy in this process. Commands that change the copy wait for them: for a few
// events, however many transfers there are. Not synchronised.
class HostReaders {
 public:
  // The end of `event`, whose server reports it unasked, is the end of the reading.
  void add(Ref<Event> event);
  // What has to end before the copy may change. The events of this process's own among them always succeed.
  const std::vector<Ref<Event>>& unended();
  std::size_t count() const;  // a few at most

 private:
  static constexpr std::size_t kEventsMax = 16;

  void join_oldest();

  std::vector<Ref<Event>> events_;
};

}  // namespace remotecl
