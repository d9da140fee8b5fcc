#pragma once

#include <string_view>
#include <vector>

#include "simulated_program.h"

namespace remotecl::schedule {

// What tests/bench/shared_cluster.py measures: some clients with independent kernels, the last with as many times the
// work of the first as there are clients, on a few servers of unlike speed.
struct SharedCluster {
  std::vector<unsigned> threads{1, 2, 4, 6};  // of each server's device
  bool says_speed = true;                     // whether servers say it, or only that they are alike
  std::uint32_t clients = 8;
  Seconds seconds = 6;      // about how long all of it takes with all devices
  Seconds kernel = 0.1;     // of one thread
  Seconds warm_up = 20e-6;  // of each of the kernels that a program runs before; they are called alike
  SimulatedProgram::Options program{};

  struct Outcome {
    Seconds total = 0;  // until the last client ends
    std::vector<Seconds> ends, waits;
    std::vector<std::vector<std::uint32_t>> placed;  // by client and device
  };
  // `devices`: by client, the device that it uses or SimulatedProgram::kAutomatic.
  Outcome run(const std::vector<DeviceId>& devices, std::string_view policy = "earliest-finish") const;
  Outcome automatic(std::string_view policy = "earliest-finish") const {
    return run(std::vector<DeviceId>(clients, SimulatedProgram::kAutomatic), policy);
  }

  std::vector<std::uint32_t> kernels() const;  // by client
  Seconds lower_bound() const;
  // When the client would end if all devices were one, divided alike among those who still have work.
  Seconds fair_end(std::uint32_t client) const;
  std::vector<DeviceId> best_static() const;
  std::vector<DeviceId> in_turn() const;

 private:
  unsigned all_threads() const;
};

}  // namespace remotecl::schedule
