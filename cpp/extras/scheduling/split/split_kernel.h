#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "extras/scheduling/schedule/division.h"
#include "extras/scheduling/split/divided_range.h"
#include "extras/scheduling/split/division_event.h"
#include "extras/scheduling/split/piece_ends.h"
#include "extras/scheduling/split/slice.h"
#include "extras/scheduling/split/speed_table.h"
#include "runtime/client/commands/commands.h"

namespace remotecl {

// A launch that is divided among several queues of one context, along one dimension of its range. One thread, which
// runs it once. The arguments have been checked: check_slices() has succeeded, and the range suits every device.
class SplitKernel {
 public:
  SplitKernel(SpeedTable& speeds, std::span<CommandQueue* const> queues, Kernel& kernel, const NDRange& range,
              cl_uint dimension, std::span<const Slice> slices, WaitList wait);

  // CL_INVALID_ARG_INDEX: there is no such argument, or two slices name it. CL_INVALID_ARG_VALUE: it is no buffer.
  // CL_INVALID_VALUE: items without bytes, or with neighbours although the kernel may write the buffer.
  // CL_INVALID_OPERATION: the kernel may write memory for which there is no slice.
  static cl_int check_slices(Kernel& kernel, std::span<const Slice> slices);

  // Returns when all pieces have been enqueued, and in the first queue a marker that ends with them. `event`, if not
  // null, receives an event that ends with the last one. If a piece fails, enqueues no further ones, and returns the
  // error when the enqueued ones have ended, so that later commands come after them here, too.
  cl_int run(Event** event);

 private:
  struct InFlight {
    schedule::Piece piece;
    Ref<Event> event;
  };
  struct Lane {
    CommandQueue* queue;
    std::size_t pieces = 0;  // in flight
  };

  schedule::Time time(std::uint64_t host_ns) const { return static_cast<double>(host_ns - begin_ns_) * 1e-9; }
  schedule::Division make_division() const;
  std::vector<const Device*> devices() const;
  // Gives each queue as many pieces as it may have now.
  cl_int fill();
  cl_int enqueue(const schedule::Piece& piece);
  cl_int take_ends();
  // Waits for the pieces in flight.
  cl_int give_up(cl_int error);
  cl_int join(Event** event);

  Kernel& kernel_;
  const DividedRange range_;
  const std::string key_;  // for the SpeedTable
  SpeedTable& speeds_;
  const std::span<const Slice> slices_;
  const WaitList wait_;
  const std::uint64_t begin_ns_ = host_time_ns();
  std::vector<Lane> lanes_;
  schedule::Division division_;
  DivisionTimes times_;           // of the pieces that have ended
  std::vector<InFlight> pieces_;  // all; those that have ended have no event
  const std::shared_ptr<PieceEnds> ends_ = std::make_shared<PieceEnds>();
};

}  // namespace remotecl
