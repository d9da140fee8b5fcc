#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "extras/rdma/registered_memory.h"

namespace remotecl {

// A reliable connected queue pair, its completion queue and its completion channel. All posted sends have
// sequence numbers and complete in order. Functions that post return false if the queue pair is unusable. Not
// thread-safe: its owner's mutex guards it, except handle().
class QueuePair {
 public:
  static constexpr unsigned kSends = 192;
  // Room that is reserved while other requests are posted: three requests for each memory window (bind,
  // report, invalidate), and a few that return credits. None of these may wait for bulk data.
  static constexpr unsigned kKeptForWindows = 48;
  static constexpr unsigned kKeptForControl = 64;
  static constexpr unsigned kReceives = 96;

  // Makes the queue pair on the domain's identifier. Throws ConnectionError.
  explicit QueuePair(std::shared_ptr<const ProtectionDomain> domain);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  // ---- Sending. There must be room. The latest request has the number posted().
  bool has_room(unsigned kept) const { return posted_ - completed_ < kSends - kept; }
  std::uint64_t posted() const { return posted_; }
  std::uint64_t completed() const { return completed_; }
  bool send(Bytes message, const RegisteredMemory& memory);
  // Writes into the peer's memory. The peer gets the immediate and the size.
  bool write(Bytes bytes, const RegisteredMemory& memory, std::uint64_t address, std::uint32_t key,
             std::uint32_t immediate);
  bool bind(ibv_mw* window, std::uint32_t key, const RegisteredMemory& memory, MutableBytes part);
  bool invalidate(std::uint32_t key);

  // ---- Receiving into numbered buffers.
  bool receive(unsigned buffer, MutableBytes to, const RegisteredMemory& memory);
  // Buffers that are posted and not completed.
  unsigned receives() const { return receives_; }

  // ---- Completions. is_send() distinguishes those of sends and receives.
  std::size_t poll(std::span<ibv_wc> completions);
  static bool is_send(const ibv_wc& completion) { return (completion.wr_id & kSendBit) != 0; }
  void note_completed(const ibv_wc& completion) { completed_ = completion.wr_id & ~kSendBit; }
  void note_received() { --receives_; }
  // kArrivals: what the peer has sent or written, and errors; kAll: also that requests of this side are complete. Most
  // threads wait for the peer only, and would be woken in vain by each request of their own.
  enum class Completions { kNone, kArrivals, kAll };
  int handle() const { return channel_->fd; }  // readable if there is a completion of that kind after arm()
  void arm(Completions kind);                  // for one event
  // Takes the event. `is_readable`: handle() was; else this looks only if a completion has come that explains an event.
  void take_event(bool is_readable = false);

  // Ends the queue pair: nothing more is read or written, and everything posted completes with an error.
  void fail();

 private:
  static constexpr std::uint64_t kSendBit = std::uint64_t{1} << 63;

  void make_queues();
  bool make_pair(unsigned inline_bytes);
  void destroy();
  bool post(ibv_send_wr& request);

  const std::shared_ptr<const ProtectionDomain> domain_;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* completions_ = nullptr;
  ibv_qp* pair_ = nullptr;
  unsigned inline_max_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  unsigned receives_ = 0;
  Completions armed_ = Completions::kNone;
  bool may_have_event_ = false;  // a completion has come for which armed_ promises one
};

}  // namespace remotecl
