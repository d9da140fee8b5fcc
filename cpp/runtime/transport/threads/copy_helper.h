#pragma once

#include <cstddef>
#include <thread>

#include "runtime/base/bytes.h"
#include "runtime/transport/threads/helper_team.h"

namespace remotecl {

// A second thread for copies of bulk data: one core copies 8 to 10 GB/s, which is less than a memory bus and a GPU's
// link have. Made when it is first of use. One of four cores can have a helped copy in this process: both ends of a
// connection are busy copying, and need two cores each then; who finds more under way copies alone. Owned by one end of
// a ring; one thread at a time.
class CopyHelper {
 public:
  static constexpr unsigned kCoresMin = 4;

  explicit CopyHelper(unsigned cores = std::thread::hardware_concurrency()) : helped_max_(cores / kCoresMin) {}

  // As memcpy().
  void copy(MutableBytes to, Bytes from);

 private:
  static constexpr std::size_t kWorthHelp = 64u << 10;

  bool copy_with_help(MutableBytes to, Bytes from);

  const unsigned helped_max_;
  HelperTeam helper_{1};
};

}  // namespace remotecl
