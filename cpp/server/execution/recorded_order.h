#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace remotecl::server {

// The order of a recording's commands in a queue that keeps none by itself: the predecessors of each. Nodes
// are counted from 0 in the order in which commands are added. A value; one thread.
class RecordedOrder {
 public:
  struct Node {
    std::vector<std::uint32_t> after;  // nodes that are not idle; empty: only what the whole recording waits for
    bool is_idle = false;              // a barrier or marker that needs no native command of its own
  };

  // REQUIRES: every wait is a node before this one.
  void add_command(std::span<const std::uint32_t> waits);
  // `holds_later`: everything added later waits for it.
  void add_point(std::span<const std::uint32_t> waits, bool waits_for_all, bool holds_later);
  // Call it after the last command: determines what the end of the recording waits for.
  void finish();

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::uint32_t>& last() const { return last_; }

 private:
  std::vector<std::uint32_t> resolve(std::span<const std::uint32_t> waits) const;
  std::vector<std::uint32_t> take_open();
  void append(Node node);

  std::vector<Node> nodes_;
  std::vector<bool> covered_;           // by node: something later waits for it
  std::vector<std::uint32_t> open_;     // not idle; nothing waits for them, except for those covered since
  std::vector<std::uint32_t> barrier_;  // what everything added from now on waits for
  std::uint32_t after_barrier_ = 0;     // the first node that the barrier holds back
  std::vector<std::uint32_t> last_;
};

}  // namespace remotecl::server
