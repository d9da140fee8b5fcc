#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

class BulkChannel;

// Bytes that cross a session's connection for one command, between the server and memory of this process.
// Shared by the session's table and whoever waits.
struct Transfer {
  enum class State { kPending, kPulled, kDone, kFailed };

  TransferId id = 0;
  BulkChannel* channel = nullptr;                 // of the device of its command's queue
  bool sends = false;                             // to the server; else from it
  std::byte* memory = nullptr;                    // where received bytes go, or where sent bytes come from
  std::atomic<std::uint64_t> size{0};             // of a read that may be short: changed with `mutex`
  std::atomic<std::uint64_t> moved{0};            // changed only by the thread that moves the bytes
  std::uint64_t ticket = 0;                       // of a read, among PendingReads of its queue
  std::atomic<std::uint64_t> trace{0};            // of a read that is traced, the record
  bool may_be_short = false;                      // of a read: the content may end before
  bool sender_waits = false;                      // a thread waits for the pull and sends the bytes itself
  bool is_expected = false;                       // its channel knows that it will come
  bool is_pushed = false;                         // it does not wait for the pull, and sends them whatever happens
  Mutex mutex;                                    // held while received bytes are put into `memory`
  std::uint64_t announced GUARDED_BY(mutex) = 0;  // the end of the newest chunk
  bool has_no_more GUARDED_BY(mutex) = false;     // no chunk follows: it has failed at the server
  bool is_over GUARDED_BY(mutex) = false;         // nothing is put there any more
  std::atomic<State> state{State::kPending};      // kDone, kFailed: `finished` has run
  cl_int failure = CL_SUCCESS;                    // why it is kFailed; written before
  // Runs once, on the thread that moved the last byte, with CL_COMPLETE or why it has failed. May be empty.
  std::function<void(cl_int status)> finished;
  std::shared_ptr<void> keep_alive;  // what owns `memory`

  void advance(std::uint64_t size) {
    moved.store(moved.load(std::memory_order_relaxed) + size, std::memory_order_relaxed);
  }
  bool ended() const {
    const State now = state.load(std::memory_order_acquire);
    return now == State::kDone || now == State::kFailed;
  }
};
using TransferRef = std::shared_ptr<Transfer>;

}  // namespace remotecl
