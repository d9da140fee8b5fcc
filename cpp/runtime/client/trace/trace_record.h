#pragma once

#include <CL/cl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol/messages.h"
#include "runtime/transport/transport_kind.h"

namespace remotecl {

class CommandQueue;
class Device;

// The record of one command, or of one transfer that the runtime adds for a command. Used by
// the thread that creates it, and from Tracer::commit() on by the tracer.
struct TraceRecord {
  // Another record: by its event, or by the position of its command in a queue.
  struct Wait {
    ObjectId queue;        // 0: `number` is an event's id
    std::uint64_t number;  // the position
  };
  static constexpr std::uint32_t kClient = ~std::uint32_t{0};  // a lane that is not a device

  struct Queue {
    std::uintptr_t handle = 0;  // of the queue that the application knows; 0: an internal queue
    ObjectId known_id = 0;      // that queue's
    ObjectId id = 0;
    bool in_order = false;
  };
  // Its bytes go from one device to another; null means this process. Only commit() uses the devices, while their owner
  // keeps them alive.
  struct Move {
    Device* from = nullptr;
    Device* to = nullptr;
    std::uint32_t from_lane = kClient, to_lane = kClient;
  };

  // When the server received it, and so on, in ns of the clocks that CommandTraced describes; all 0 until the
  // server has reported.
  struct Times {
    std::uint64_t received = 0, submitted = 0, ended = 0, start = 0, end = 0;
    bool reported = false;
    bool has_profile = false;
    TransportKind transport = TransportKind::kNone;  // of its bulk data
  };

  void waits_for(EventId event) { waits.push_back({0, event}); }
  void waits_for(ObjectId queue, std::uint64_t position) { waits.push_back({queue, position}); }
  void uses(std::uintptr_t buffer) {
    if (std::find(buffers.begin(), buffers.end(), buffer) == buffers.end()) buffers.push_back(buffer);
  }
  // Null means this process.
  void moves(std::uint64_t size, Device* source, Device* destination) {
    bytes = size;
    move = {source, destination};
  }

  // What has carried its bulk data: as the receiving server says, if two take part.
  TransportKind transport() const {
    return times.transport == TransportKind::kNone && sending != nullptr ? sending->transport : times.transport;
  }

  // Allocates from chunks that belong to the thread, so that a record costs little more than filling it in.
  static void* operator new(std::size_t size);
  static void operator delete(void* memory);

  std::uint64_t id = 0;  // unique in this process
  cl_command_type type = 0;
  std::uint64_t sample = 0;  // see Tracer::sample_for(); sent with the flag although no trace runs
  bool is_transfer = false;  // not a command of the application
  std::string kernel;
  Device* device = nullptr;  // as in Move
  std::uint32_t lane = kClient;
  std::optional<Move> move;
  Queue queue;
  std::uint64_t position = 0;  // in its queue; 0: none that implies anything
  EventId event = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> wire_bytes;  // what crossed the link in their place, if less
  std::vector<std::uintptr_t> buffers;
  std::vector<Wait> waits;
  std::uint64_t queued_ns = 0;   // host clock
  std::uint64_t arrived_ns = 0;  // host clock: all bytes for this process have arrived
  cl_int status = CL_QUEUED;
  Times times;
  std::unique_ptr<Times> sending;  // of the sending half, if two servers take part
};

// Kept out of line: the code of each enqueue has a pointer to a record, which is nearly always null.
struct DeleteTraceRecord {
  [[gnu::cold]] void operator()(TraceRecord* record) const;
};
using TraceRecordOwner = std::unique_ptr<TraceRecord, DeleteTraceRecord>;

}  // namespace remotecl
