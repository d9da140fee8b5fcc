#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/client/support/rows.h"
#include "runtime/client/upload/upload_offer.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/bulk/bulk_transport.h"

namespace remotecl {

class BulkChannel;
class Session;

// Bytes that cross a session's connection for one command, between the server and memory of this process.
// Shared by the session's table and the threads that wait for it.
struct ClientTransfer : SourceOwner {
  enum class State { kPending, kPulled, kDone, kFailed };

  // Of a traced one.
  struct Traced {
    std::atomic<std::uint64_t> record{0};  // 0: it is not traced
    std::uint64_t spared = 0;              // bytes that need not cross the link; used where they move
  };
  // Of a read.
  struct Received {
    std::uint64_t announced = 0;  // the end of the newest chunk
    bool has_no_more = false;     // no chunk follows: it has failed at the server
    std::unique_ptr<MemoryRegistration>
        registration;  // of its memory as a whole, if that was announced to the transport
  };

  TransferId id = 0;
  BulkChannel* channel = nullptr;        // of the device of its command's queue
  bool sends = false;                    // to the server; else from the server
  std::byte* memory = nullptr;           // destination of received bytes, or source of sent ones; changed with `mutex`
  std::optional<Rows> rows;              // how they lie there, unless without gaps
  std::atomic<std::uint64_t> size{0};    // of a read that may be short: changed with `mutex`
  std::atomic<std::uint64_t> moved{0};   // changed only by the thread that moves the bytes
  std::uint64_t ticket = 0;              // of a read: its ticket in the queue's PendingReads
  std::vector<std::uint64_t> awaited{};  // of a blocking read of a queue out of order: tickets that come before it
  Traced trace;
  bool may_be_short = false;               // of a read: the content may end early
  bool sender_waits = false;               // a thread waits for the pull and sends the bytes itself
  std::unique_ptr<UploadOffer> offer;      // of a write: the server may have its bytes; null: they are sent
  bool is_expected = false;                // its channel expects it
  bool is_metered = false;                 // a LinkMeter knows that its bytes move
  bool is_pushed = false;                  // sent without waiting for a pull, whatever happens
  bool is_copied = false;                  // when it is sent: its sender does not wait until the server has it
  Mutex mutex;                             // held while bytes are put into `memory`, or packed from there
  bool is_over GUARDED_BY(mutex) = false;  // `memory` may be gone
  Received received GUARDED_BY(mutex);
  std::atomic<State> state{State::kPending};  // kDone, kFailed: `finished` has run
  cl_int failure = CL_SUCCESS;                // why it failed; written before `state`
  // Runs once, on the thread that moved the last byte, with CL_COMPLETE or the reason for the failure. May be
  // empty.
  std::function<void(cl_int status)> finished;
  std::shared_ptr<void> keep_alive;  // owns `memory`

  bool copy(Bytes from, MutableBytes to) override {
    const MutexLock lock(mutex);
    if (!is_over) std::memcpy(to.data(), from.data(), from.size());
    return !is_over;
  }
  void advance(std::uint64_t size) {
    moved.store(moved.load(std::memory_order_relaxed) + size, std::memory_order_relaxed);
  }
  // All bytes have arrived at once.
  void put(Bytes bytes) const {
    rows ? rows->unpack(bytes, memory, 0) : void(std::memcpy(memory, bytes.data(), bytes.size()));
  }
  bool ended() const {
    const State now = state.load(std::memory_order_acquire);
    return now == State::kDone || now == State::kFailed;
  }
};
using TransferRef = std::shared_ptr<ClientTransfer>;

}  // namespace remotecl
