#pragma once

#include <CL/cl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/protocol/messages.h"

namespace remotecl {

class CommandQueue;
class Device;

// What a trace knows of one command, or of one transfer that the runtime adds to bring a command its bytes. First its
// maker's, one thread; from Tracer::commit() on the tracer's.
struct TraceRecord {
  // Another record: that of an event, or that of a queue's command by its place.
  struct Wait {
    ObjectId queue;        // 0: `number` is an event's id
    std::uint64_t number;  // the place
  };
  static constexpr std::uint32_t kClient = ~std::uint32_t{0};  // a lane that is no device's

  // When the server received it, and so on; all 0 until it has said so. ns, in the clocks that CommandTraced tells of.
  struct Times {
    std::uint64_t received = 0, submitted = 0, ended = 0, start = 0, end = 0;
    bool told = false;
    bool has_profile = false;
  };

  void waits_for(EventId event) { waits.push_back({0, event}); }
  void waits_for(ObjectId queue, std::uint64_t place) { waits.push_back({queue, place}); }
  void uses(std::uintptr_t buffer) {
    if (std::find(buffers.begin(), buffers.end(), buffer) == buffers.end()) buffers.push_back(buffer);
  }
  // Null stands for this process.
  void moves(std::uint64_t size, Device* source, Device* destination) {
    bytes = size;
    from = source;
    to = destination;
    is_move = true;
  }

  // From chunks of memory that a thread fills: a record costs hardly more than its filling.
  static void* operator new(std::size_t size);
  static void operator delete(void* memory);

  std::uint64_t id = 0;  // unique in this process
  cl_command_type type = 0;
  bool is_transfer = false;  // no command of the application
  bool is_move = false;
  std::string kernel;
  Device* device = nullptr;  // these three are used by commit() alone, where the maker keeps them
  Device* from = nullptr;
  Device* to = nullptr;
  std::uint32_t lane = kClient, from_lane = kClient, to_lane = kClient;
  std::uintptr_t queue_handle = 0;  // 0: a queue of the runtime's own
  ObjectId queue = 0;
  std::uint64_t place = 0;  // in its queue; 0: none that tells anything
  bool in_order = false;
  EventId event = 0;
  std::uint64_t bytes = 0;
  std::vector<std::uintptr_t> buffers;
  std::vector<Wait> waits;
  std::uint64_t queued_ns = 0;   // host clock
  std::uint64_t arrived_ns = 0;  // host clock, of what comes to this process: all bytes are here
  cl_int status = CL_QUEUED;
  Times times;
  std::unique_ptr<Times> sending;  // of the sending half, where two servers take part
};

// Out of line: whoever enqueues has a pointer to a record, which is null nearly always.
struct DeleteTraceRecord {
  [[gnu::cold]] void operator()(TraceRecord* record) const;
};
using TraceRecordOwner = std::unique_ptr<TraceRecord, DeleteTraceRecord>;

}  // namespace remotecl
