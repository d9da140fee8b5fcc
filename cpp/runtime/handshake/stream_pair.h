#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "runtime/protocol/frames.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/stream/resumable_connection.h"

namespace remotecl {

// The resumable streams among the two connections of a session or link; for shared memory, that of its
// doorbell. Others own the streams, which must outlive this. Any thread.
class StreamPair {
 public:
  // Once for each kind. Returns its argument.
  std::unique_ptr<Connection> add(StreamKind kind, std::unique_ptr<ResumableConnection> stream) {
    add(kind, *stream);
    return stream;
  }
  void add(StreamKind kind, ResumableConnection& stream) { at(kind).store(&stream, std::memory_order_release); }

  // Null if that connection is not resumable.
  ResumableConnection* control() const { return control_.load(std::memory_order_acquire); }
  ResumableConnection* bulk() const { return bulk_.load(std::memory_order_acquire); }
  ResumableConnection* find(StreamKind kind) const { return kind == StreamKind::kBulk ? bulk() : control(); }
  ResumableConnection* find(Role role) const {
    if (role == Role::kControl || role == Role::kPeerControl) return control();
    return role == Role::kBulk || role == Role::kPeerBulk ? bulk() : nullptr;
  }

  // The other side has received this many bytes of the stream. Returns false if that is impossible.
  [[nodiscard]] bool acknowledged(StreamKind kind, std::uint64_t bytes) const {
    ResumableConnection* const stream = find(kind);
    return stream != nullptr && stream->acknowledged(bytes);
  }
  // From now on, a stream ends when its connection breaks.
  void end_when_broken() const {
    if (ResumableConnection* const stream = control()) stream->end_when_broken();
    if (ResumableConnection* const stream = bulk()) stream->end_when_broken();
  }
  // Why one of them has been given up, as text for people; empty if none has.
  std::string reason() const {
    for (const ResumableConnection* const stream : {control(), bulk()}) {
      if (std::string reason = stream != nullptr ? stream->reason() : ""; !reason.empty()) return reason;
    }
    return {};
  }
  void set_window(std::chrono::milliseconds window) const {
    if (ResumableConnection* const stream = control()) stream->set_window(window);
    if (ResumableConnection* const stream = bulk()) stream->set_window(window);
  }

 private:
  std::atomic<ResumableConnection*>& at(StreamKind kind) { return kind == StreamKind::kBulk ? bulk_ : control_; }

  std::atomic<ResumableConnection*> control_{nullptr};
  std::atomic<ResumableConnection*> bulk_{nullptr};
};

}  // namespace remotecl
