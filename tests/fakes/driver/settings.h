#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/completion/cl.h"

namespace remotecl::fake {

// What REMOTECL_FAKE_DRIVER asks for; README.md has the words. Immutable once made.
struct PlatformSettings {
  std::string name = "Fake";
  int cpus = 0, gpus = 0, accelerators = 0, customs = 0;
};
struct Fault {
  std::string function;
  std::uint64_t call = 0;  // the number of the call that fails, from 1; 0: each
  cl_int error = CL_OUT_OF_RESOURCES;
};
struct Settings {
  std::vector<PlatformSettings> platforms{1};
  std::vector<Fault> faults;
  std::chrono::microseconds kernel_time{0};
  std::chrono::nanoseconds item_time{0};
  std::chrono::microseconds callback_time{0};  // from a kernel's end until what is to be called back then is
  std::chrono::seconds clock_ahead{0};         // of the machine's
  std::uint64_t memory = std::uint64_t{64} << 20;
  cl_uint base_alignment = 1024;      // of sub-buffers, in bits
  bool takes_any_sub_buffer = false;  // whatever their alignment
  std::size_t kernel_group = 64;      // what kernels say of the largest work-group; they run larger ones
  // Commands run on the thread that flushes or waits, so that the order of everything is the caller's.
  bool is_threadless = false;
  // The events of kernels, and of markers without a wait list, end in the order in which they were enqueued, whatever
  // their queues; clFinish and barriers know better.
  bool has_late_events = false;
  // Kernels of other queues wait, as on a device with one queue of its own.
  bool runs_one_kernel = false;
  // clReleaseMemObject waits until no kernel runs.
  bool has_slow_releases = false;
  bool takes_dma_bufs = false;   // says so; it takes none
  bool chains_failures = false;  // what follows a failed command in a queue in order fails with it
  cl_int failed_wait_status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;  // of a command whose wait list has failed
  std::uint64_t builds_at_once = 1;
};

// Throws std::runtime_error for a word that it does not know.
Settings parse(std::string_view words);

// Read once: devices, their memory, threads. Ends the process, with a line that says why, if the words are wrong.
const Settings& settings();
// An allocation can be no larger than this.
std::uint64_t allocation_max();
// How long a kernel of so many work-items takes now. With "@FILE" the file is read again when another has its name.
std::chrono::nanoseconds kernel_time(std::size_t items);
// How long after the end of a kernel its callbacks come now, and after the call those of an event that has ended.
std::chrono::microseconds callback_time();
// Whether a failed command fails what follows it in its queue now.
bool chains_failures();
// How a command ends now whose wait list has failed.
cl_int failed_wait_status();
// How many builds wait for each other now.
std::uint64_t builds_at_once();
// Counts a call of `function`, and gives the error that it shall fail with. A launched kernel that runs is a call of
// "kernel": its event fails.
std::optional<cl_int> fault(std::string_view function);

// What the program or library says that the driver is linked into: the words where the variable is not set, and the
// first word of every object, which an OpenCL loader reads.
extern const char* const kDefaultSettings;
const void* dispatch_table();

}  // namespace remotecl::fake
