#pragma once

#include <string_view>

namespace remotecl::server {

// Where a driver differs from the specification: mostly defects and slow paths that the server has to avoid. The table
// has one row for each driver.
struct Quirks {
  // The cost of commands that wait for all earlier ones grows with the square of their number.
  bool waits_for_all_slowly = false;
  // Two links of equal programs at the same time, even in two processes, can make one of them fail, because
  // the driver replaces a file of its cache in two steps.
  bool links_disturb_each_other = false;
  // The driver says nothing about kernel arguments unless the program was built with -cl-kernel-arg-info. Without the
  // option a kernel may write whatever it takes, so kernels on several devices that share an input wait for each other.
  bool needs_request_for_arguments = false;
  // Its compiler rejects some kernels with that option, so they are built again without it. Other drivers get no
  // second try, because it doubles the time of a failing build, and PoCL crashes on some wrong options that come alone.
  bool rejects_request_for_arguments = false;
  // Filling a 1D buffer image ends the process.
  bool crashes_filling_buffer_images = false;
  // Copying a rectangle or pixels from or to a sub-buffer ends the process.
  bool crashes_copying_parts = false;
  // The driver compiles all kernels of a program when it is asked for the binary, and ends the process if it cannot.
  bool compiles_for_binary = false;
  // The event of a kernel, and of a marker without a wait list, ends only after all kernels that were launched before,
  // in any queue of the context. A barrier's ends in time, and so does clFinish.
  bool kernel_events_end_late = false;
  // clReleaseMemObject waits until no kernel runs on the device, and other calls wait for it.
  bool releases_wait_for_kernels = false;
  // A command of a queue out of order that has the last reference to it hangs: the queue is taken apart on the thread
  // that ends the command, and waits there for that thread.
  bool hangs_releasing_busy_queues = false;
  // Sub-buffers may begin at any byte, whatever CL_DEVICE_MEM_BASE_ADDR_ALIGN says.
  bool takes_any_sub_buffer = false;
};

// The quirks of the platform with this name; drivers that are not in the table have none.
const Quirks& quirks_of(std::string_view platform);

}  // namespace remotecl::server
