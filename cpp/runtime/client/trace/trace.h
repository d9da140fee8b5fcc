#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/client/objects/device.h"
#include "runtime/client/support/clock_line.h"
#include "runtime/client/trace/trace_record.h"

namespace remotecl {

// What has been recorded between the begin and the end of a trace. A value; times on the host's clock.
struct Trace {
  // A device that took part.
  struct Lane {
    Ref<Device> device;
    ClockLine server_clock;
    ClockLine device_clock;
  };

  std::uint64_t begin_ns = 0, end_ns = 0;
  std::vector<Lane> lanes;
  std::vector<TraceRecordOwner> records;  // as they were sent: what one waits for stands before it
  std::uint64_t dropped = 0;              // did not fit
};

// The times of a record on the host's clock, in ns; 0 where nothing is known.
struct TimedRecord {
  std::uint64_t received = 0;  // by the server
  std::uint64_t submit = 0;    // to the native driver
  std::uint64_t start = 0, end = 0;
  bool is_profiled = false;              // the device has told start and end
  std::vector<std::uint32_t> waits_for;  // indices of other records
};

// One for each record, in their order.
//
// What the device has not told is bounded: a command has started after it went to the driver and after what it waits
// for has ended, and it has ended before the server knew, before its bytes were here,
// and before anything started that waits for it.
std::vector<TimedRecord> timed_records(const Trace& trace);

}  // namespace remotecl
