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

// Holds the functions that wait for replies of one session's server. Any thread.
class ReplyTable {
 public:
  // Called once: with the reply on the reading thread, or with nullptr if the session is lost.
  using Reply = std::function<void(std::uint16_t code, const Bytes* payload)>;

  explicit ReplyTable(const LossState& loss) : loss_(loss) {}

  // Returns the token for the request. If the session is lost, `reply` has already been called.
  Token expect(Reply reply) EXCLUDES(mutex_);
  void deliver(Token token, std::uint16_t code, Bytes payload) EXCLUDES(mutex_);
  // Removes and returns the functions that have not been called.
  std::vector<Reply> take_all() EXCLUDES(mutex_);

 private:
  const LossState& loss_;
  Mutex mutex_;
  std::unordered_map<Token, Reply> replies_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
