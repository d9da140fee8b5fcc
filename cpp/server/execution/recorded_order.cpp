#include "server/execution/recorded_order.h"

#include <algorithm>
#include <utility>

namespace remotecl::server {

// An idle node stands for what it would have waited for.
std::vector<std::uint32_t> RecordedOrder::resolve(std::span<const std::uint32_t> waits) const {
  std::vector<std::uint32_t> result;
  bool covers_barrier = false;  // what comes after the barrier already waits for it
  for (const std::uint32_t wait : waits) {
    covers_barrier = covers_barrier || wait >= after_barrier_;
    if (nodes_[wait].is_idle) {
      result.insert(result.end(), nodes_[wait].after.begin(), nodes_[wait].after.end());
    } else {
      result.push_back(wait);
    }
  }
  if (!covers_barrier) result.insert(result.end(), barrier_.begin(), barrier_.end());
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<std::uint32_t> RecordedOrder::take_open() {
  std::erase_if(open_, [this](std::uint32_t node) { return covered_[node]; });
  return open_;
}

void RecordedOrder::append(Node node) {
  if (!node.is_idle) {
    for (const std::uint32_t earlier : node.after) covered_[earlier] = true;
    open_.push_back(static_cast<std::uint32_t>(nodes_.size()));
  }
  nodes_.push_back(std::move(node));
  covered_.push_back(false);
}

void RecordedOrder::add_command(std::span<const std::uint32_t> waits) { append({resolve(waits)}); }

void RecordedOrder::add_point(std::span<const std::uint32_t> waits, bool waits_for_all, bool holds_later) {
  Node node{waits_for_all ? take_open() : resolve(waits)};
  node.is_idle = node.after.size() <= 1;
  if (holds_later) {
    const auto here = static_cast<std::uint32_t>(nodes_.size());
    barrier_ = node.is_idle ? node.after : std::vector<std::uint32_t>{here};
    after_barrier_ = here + 1;
  }
  append(std::move(node));
}

void RecordedOrder::finish() { last_ = take_open(); }

}  // namespace remotecl::server
