#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace remotecl::server {

// Remembers why the latest sessions ended, except those that ended in order, for clients that try to resume them. Used
// by one thread.
class EndedSessions {
 public:
  void add(std::uint64_t session, std::string why) {
    if (!why_.insert_or_assign(session, std::move(why)).second) return;
    order_.push_back(session);
    if (order_.size() <= kCountMax) return;
    why_.erase(order_.front());
    order_.pop_front();
  }
  // Empty if unknown.
  std::string find(std::uint64_t session) const {
    const auto at = why_.find(session);
    return at == why_.end() ? std::string() : at->second;
  }

 private:
  static constexpr std::size_t kCountMax = 1024;

  std::map<std::uint64_t, std::string> why_;
  std::deque<std::uint64_t> order_;
};

}  // namespace remotecl::server
