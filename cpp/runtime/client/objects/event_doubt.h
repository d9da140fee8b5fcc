#pragma once

#include <cstdint>

#include "runtime/client/objects/event.h"
#include "runtime/memory/former_content.h"

namespace remotecl {

// The doubt about a command or transfer until its event is known to have ended.
class EventDoubt final : public Doubt {
 public:
  enum class Kind {
    // A command that overwrites bytes which its device lacks: who needs them waits for it, and fails with it. A device
    // that is lost counts as having written them, as others may have seen them, unless a user event says otherwise.
    kOverwrite,
    // A command that waits for user events, or is behind such a one, and whose device has the bytes before. Only if the
    // device is lost are they elsewhere.
    kRewrite,
    kTransfer,
  };

  // `sequence`: of the command in the event's queue. `before`: the event of a command without which it does not begin;
  // may be null.
  EventDoubt(Kind what, Location at, Ref<Event> end, std::uint64_t sequence = 0, Ref<Event> before = {})
      : Doubt(at), kind(what), event(std::move(end)), sequence_(sequence), before_(std::move(before)) {}

  Outcome outcome() const override;
  void ask() const override { event->observe(); }
  // Whether bytes at the location are right only if it takes place.
  bool decides_at(Location there) const { return kind != Kind::kRewrite && location == there; }
  // A command that waits for it is sent. If it has ended already, its outcome becomes known.
  void rely() const {
    if (kind == Kind::kOverwrite && event->queue()->has_ended(sequence_)) event->observe();
  }

  const Kind kind;
  const Ref<Event> event;

 private:
  const std::uint64_t sequence_;
  const Ref<Event> before_;
};

}  // namespace remotecl
