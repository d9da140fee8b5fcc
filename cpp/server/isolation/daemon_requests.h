#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/transport/shm/shared_memory_segment.h"
#include "server/isolation/link_messages.h"
#include "server/isolation/session_channel.h"

namespace remotecl::server {

// Services of the daemon for a session's process, which may not do these itself: links to other servers, opening memory
// that a client or another server offers to share, using the store, and opening sockets for kernels. Any thread except
// the one that receives from the channel.
class DaemonRequests {
 public:
  explicit DaemonRequests(SessionChannel& channel) : channel_(channel) {}

  // The daemon's answer, a DialedMessage; no payload if none comes. A request to stop ends the wait.
  SessionChannel::Packet dial(const LinkDialer::Wanted& wanted, std::chrono::milliseconds timeout, Deadline deadline,
                              const std::stop_token& stop) EXCLUDES(mutex_);
  // Returns -1 if there is no such offer.
  int open(const SharedMemoryOffer& offer) EXCLUDES(mutex_);
  // Memory with what the store has under this key; -1: it has nothing.
  int find(const Digest& key) EXCLUDES(mutex_);
  // Returns when that is stored, or is not going to be.
  void keep(const Digest& key, const Descriptor& memory) EXCLUDES(mutex_) { store(PacketType::kKeep, key, memory); }
  // The same for chunks of uploads. open_upload() returns the file of a valid entry, and its content's checksum.
  int open_upload(const Digest& key, std::uint64_t& checksum) EXCLUDES(mutex_);
  void doubt_upload(const Digest& key) { channel_.send(PacketType::kDoubtUpload, StoreMessage{0, key}); }
  void keep_upload(const Digest& key, const Descriptor& memory) EXCLUDES(mutex_) {
    store(PacketType::kKeepUpload, key, memory);
  }

  // Comes before all that is to be found or stored.
  void introduce(const Digest& owner) { channel_.deliver(PacketType::kOwner, OwnerMessage{owner}); }

  // A socket that is connected or connecting to `address`, or, unless `backlog` is negative, bound to it; or a negative
  // errno.
  int open_socket(const std::string& address, int backlog) EXCLUDES(mutex_);

  // Called on the channel's thread: a reply has come, or no more will come.
  void done(SessionChannel::Packet packet) EXCLUDES(mutex_);
  void dialed(SessionChannel::Packet packet) EXCLUDES(mutex_);
  void stop() EXCLUDES(mutex_);

 private:
  struct Reply {
    bool is_there = false;
    std::string failure;
    std::int32_t error = 0;
    std::uint64_t checksum = 0;
    Descriptor descriptor;
    SessionChannel::Packet dialed{};
  };

  void store(PacketType type, const Digest& key, const Descriptor& memory) EXCLUDES(mutex_);
  std::uint64_t begin() EXCLUDES(mutex_);
  Reply await(std::uint64_t number, bool is_sent, const std::stop_token& stop = {}) EXCLUDES(mutex_);

  SessionChannel& channel_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, Reply> replies_ GUARDED_BY(mutex_);  // pending ones too
};

}  // namespace remotecl::server
