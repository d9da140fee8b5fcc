#include "server/driver/quirks.h"

#include <array>

namespace remotecl::server {
namespace {

struct Row {
  std::string_view platform;
  Quirks quirks;
};

constexpr std::array kTable = {
    Row{"Portable Computing Language",
        {.waits_for_all_slowly = true,
         .links_disturb_each_other = true,
         .needs_request_for_arguments = true,
         .crashes_filling_buffer_images = true,
         .crashes_copying_parts = true,
         .compiles_for_binary = true}},
    Row{"Intel(R) OpenCL", {.hangs_releasing_busy_queues = true}},
    Row{"NVIDIA CUDA",
        {.needs_request_for_arguments = true,
         .rejects_request_for_arguments = true,
         .kernel_events_end_late = true,
         .releases_wait_for_kernels = true,
         .takes_any_sub_buffer = true}},
};
constexpr Quirks kNone;

}  // namespace

const Quirks& quirks_of(std::string_view platform) {
  for (const Row& row : kTable) {
    if (row.platform == platform) return row.quirks;
  }
  return kNone;
}

}  // namespace remotecl::server
