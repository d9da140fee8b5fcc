#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/client/session/loss_state.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// Who waits for which reply of one session's server. Any thread.
class ReplyTable {
 public:
  // Called once: with the reply on the thread that reads, or with nullptr when the session is lost.
  using Reply = std::function<void(std::uint16_t code, const Bytes* payload)>;

  explicit ReplyTable(const LossState& loss) : loss_(loss) {}

  // The token for the message that asks. When the session is lost `reply` has been called.
  Token expect(Reply reply) EXCLUDES(mutex_);
  void deliver(Token token, std::uint16_t code, Bytes payload) EXCLUDES(mutex_);
  // Takes out those that have not been called.
  std::vector<Reply> take_all() EXCLUDES(mutex_);

 private:
  const LossState& loss_;
  Mutex mutex_;
  std::unordered_map<Token, Reply> replies_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
