#pragma once

#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "runtime/base/mutex.h"
#include "runtime/protocol/message_buffer.h"
#include "server/session/session.h"
#include "support/memory_connection.h"
#include "support/records.h"

namespace remotecl::fuzz {

// What the sessions of one process share: the fake driver's devices, and so on.
server::Shared& shared();

// The messages that a session has sent. Each is decoded as a client would: what does not decode is a finding.
class Reports {
 public:
  void take(Bytes bytes) EXCLUDES(mutex_);
  // Waits until so many of these have come, or the session has said its last words; but not long.
  void wait_for(std::uint16_t code, std::size_t count) EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  MessageBuffer buffer_ GUARDED_BY(mutex_);
  std::map<std::uint16_t, std::size_t> counts_ GUARDED_BY(mutex_);
  bool has_given_up_ GUARDED_BY(mutex_) = false;
};

// One session over connections in memory, which is fed with the records of an input. One thread.
class SessionUnderTest {
 public:
  SessionUnderTest();
  // Ends the session, and looks whether it has given everything back.
  ~SessionUnderTest();

  void feed(const Record& record);

 private:
  void feed_control(const Record& record, bool is_awaited);
  void await_answer(std::uint16_t code);
  // What the daemon has to connect to would be other programs.
  static std::vector<std::byte> without_addresses(Bytes payload);
  Pipe& bulk();
  // The link that the last AcceptPeer allows; null when there was none.
  void link_peer();
  std::shared_ptr<Pipe> attach_peer(Role role);
  void settle();

  const std::shared_ptr<Reports> reports_ = std::make_shared<Reports>();
  const std::shared_ptr<Pipe> control_;
  std::shared_ptr<Pipe> bulk_, peer_control_, peer_bulk_;
  std::optional<AcceptPeer> accepted_;
  bool has_unread_ = false;  // control messages, which are read together
  std::map<std::uint16_t, std::size_t> asked_;
  Ref<server::Session> session_;
  std::thread thread_, bulk_thread_;
};

}  // namespace remotecl::fuzz
