#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "runtime/protocol/messages.h"

namespace remotecl {

// Events in the order in which they were added, each once. One thread.
class EventIds {
 public:
  void add(EventId id) {
    if (contains(id)) return;
    ids_.push_back(id);
    if (ids_.size() < kScannedMax) return;
    if (!known_) known_ = std::make_unique<std::unordered_set<EventId>>(ids_.begin(), ids_.end());
    known_->insert(id);
  }
  bool contains(EventId id) const { return known_ ? known_->contains(id) : std::ranges::find(ids_, id) != ids_.end(); }
  std::span<const EventId> all() const { return ids_; }

 private:
  static constexpr std::size_t kScannedMax = 32;  // more are looked up

  std::vector<EventId> ids_;
  std::unique_ptr<std::unordered_set<EventId>> known_;  // null: there are few
};

}  // namespace remotecl
