#pragma once

#include <string_view>

namespace remotecl::server {

// What a driver does wrong or slowly, so that the server has to avoid it. One row of a table for each driver.
struct Quirks {
  // Commands that wait for all earlier ones cost the driver a time that grows with the square of their number.
  bool waits_for_all_slowly = false;
  // Two links of equal programs at the same time, also in two processes, make one of them fail: the driver replaces a
  // file of its cache in two steps.
  bool links_disturb_each_other = false;
  // Tells nothing of kernel arguments unless the program was built with -cl-kernel-arg-info, which is safe to add
  // there. Elsewhere it is not: NVIDIA's compiler then rejects some kernels.
  bool needs_request_for_arguments = false;
  // The process ends when a 1D buffer image is filled.
  bool crashes_filling_buffer_images = false;
  // The process ends when a rectangle or pixels are copied from or to a part of a buffer.
  bool crashes_copying_parts = false;
};

// By the platform's name; none for drivers that are not in the table.
const Quirks& quirks_of(std::string_view platform);

}  // namespace remotecl::server
