#include "runtime/client/session/reply_table.h"

#include <utility>

#include "runtime/client/support/ids.h"

namespace remotecl {

Token ReplyTable::expect(Reply reply) {
  const Token token = next_id();
  {
    const MutexLock lock(mutex_);
    if (!loss_.lost()) {
      replies_.emplace(token, std::move(reply));
      return token;
    }
  }
  reply(0, nullptr);
  return token;
}

void ReplyTable::deliver(Token token, std::uint16_t code, Bytes payload) {
  Reply reply;
  {
    const MutexLock lock(mutex_);
    const auto at = replies_.find(token);
    if (at == replies_.end()) return;
    reply = std::move(at->second);
    replies_.erase(at);
  }
  reply(code, &payload);
}

std::vector<ReplyTable::Reply> ReplyTable::take_all() {
  std::vector<Reply> replies;
  const MutexLock lock(mutex_);
  for (auto& [token, reply] : replies_) replies.push_back(std::move(reply));
  replies_.clear();
  return replies;
}

}  // namespace remotecl
