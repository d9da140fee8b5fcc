#pragma once

#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "server/completion/cl.h"

namespace remotecl::server {

class Device;

// Holds back the first of commands that a driver is given one by one until it has some of them. Kernels of a CPU device
// begin at once, beside the thread that still enqueues, and where there are few cores both get into each other's way: a
// hundred empty kernels take PoCL on two cores 350 us one by one, and 290 behind a user event. On four cores there is
// no difference, and on more (as on other devices) nothing is held back: that would cost up to 4 %. For one thread.
class StartGate {
 public:
  // More than so many need not be held back: the device has enough to do.
  static constexpr std::size_t kCommandsMax = 128;

  // For about so many commands, of which the first ones have to wait for `waits`.
  StartGate(Device& device, std::size_t commands, std::span<const cl_event> waits,
            unsigned cores = std::thread::hardware_concurrency());
  ~StartGate();
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;

  // What they have to wait for instead; as long as both this and what was given are there.
  std::span<const cl_event> waits() const { return waits_; }
  // The driver has one more.
  void add_command();
  std::size_t commands() const { return commands_; }
  void open();

 private:
  static constexpr unsigned kCoresMax = 3;

  std::span<const cl_event> waits_;
  std::vector<cl_event> waits_and_gate_;
  cl_event gate_ = nullptr;  // retained; null: there is none
  std::size_t commands_ = 0;
  bool is_open_ = false;
};

}  // namespace remotecl::server
