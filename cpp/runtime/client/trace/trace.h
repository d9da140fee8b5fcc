#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/client/objects/device.h"
#include "runtime/client/support/clock_line.h"
#include "runtime/client/trace/trace_record.h"

namespace remotecl {

// The records of a trace. A value; times are in the host's clock.
struct Trace {
  // A device that took part.
  struct Lane {
    Ref<Device> device;
    ClockLine server_clock;
    ClockLine device_clock;
  };

  std::uint64_t begin_ns = 0, end_ns = 0;
  std::vector<Lane> lanes;
  std::vector<TraceRecordOwner> records;  // in the order of sending, so a record comes after those that it waits for
  std::uint64_t dropped = 0;              // records that did not fit
};

// The times of a record in the host's clock, in ns; 0 if unknown.
struct TimedRecord {
  std::uint64_t received = 0;  // by the server
  std::uint64_t submit = 0;    // to the native driver
  std::uint64_t start = 0, end = 0;
  bool is_profiled = false;              // the device reported start and end
  std::vector<std::uint32_t> waits_for;  // indices of other records
};

// One for each record, in the same order.
//
// Times that the device has not reported are bounded: a command starts after it was handed to the driver and
// after everything that it waits for has ended; it ends before the server notices, before its bytes have
// arrived here, and before any command that waits for it starts.
std::vector<TimedRecord> timed_records(const Trace& trace);

}  // namespace remotecl
