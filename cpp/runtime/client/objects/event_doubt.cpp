#include "runtime/client/objects/event_doubt.h"

namespace remotecl {

Doubt::Outcome EventDoubt::outcome() const {
  if (!event->is_reported() || (before_ && !before_->is_reported())) return Outcome::kOpen;
  const bool is_lost_before = before_ && before_->unbegun() == Event::Unbegun::kLost;
  bool has_failed = false;
  switch (kind) {
    case Kind::kOverwrite:
      has_failed = event->unbegun() != Event::Unbegun::kUnknown || is_lost_before;
      break;
    case Kind::kRewrite:
      has_failed = event->unbegun() == Event::Unbegun::kLost;
      break;
    case Kind::kTransfer:
      // Of a transfer to a lost server the outcome is unknown, and later writes may already have been reported as
      // successful.
      has_failed = event->queue()->session().lost() ? is_lost_before : event->status() < CL_COMPLETE;
  }
  return has_failed ? Outcome::kDoesNot : Outcome::kTakesPlace;
}

}  // namespace remotecl
