#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "extras/kernel_sockets/space/kernel_run.h"
#include "program_sides.h"

namespace remotecl::bench {

struct Options {
  std::size_t device = 0;
  std::vector<std::size_t> sizes{64, 1024, 4096, 16384, 65536, 262144, 1048576};
  std::vector<std::size_t> connections{1, 8, 64, 512};
  std::size_t items = 256, groups = 0, ring = 524288;
  // Compute units of the device: of two kernels that need each other, no more groups are sure to run at once.
  std::size_t units = 1;
  std::uint32_t threads = 0;
  bool fixed_threads = false;
  std::size_t megabytes = 2048, messages = 100000, rounds = 20000;
  std::string build;
  bool selftest = false, only_selftest = false, no_bandwidth = false, only_kernels = false, only_programs = false;
};

// How two kernels of one server meet: over the machine's loopback, or by name, through memory.
enum class Meeting { kTcp, kName };

// Kernels at one end of connections, or at both. One thread.
class KernelSides {
 public:
  // Both outlive it. Builds the programs.
  KernelSides(server::Device& device, const Options& options);

  // A kernel serves this program's client. Returns what the client does. Throws where a call of the kernel failed.
  double serve_program(const Work& work, const Client& client);
  // A kernel serves another one, which gets its messages back (kEcho) or sends them (kReceive) and waits until the
  // server has seen the end. Returns the seconds from the first message on.
  double serve_kernel(const Work& work, Meeting meeting);

 private:
  Ref<server::KernelSocketSpace> make_network(std::size_t sockets) const;
  // The most work-groups, up to `most`, among which the connections can be divided.
  static std::size_t groups_for(const Work& work, std::size_t most);
  testing::KernelRun serve(const Work& work, const Ref<server::KernelSocketSpace>& network, std::size_t groups,
                           const std::string& address);
  static void finish(testing::KernelRun& run, server::KernelSocketSpace& network);

  server::Device& device_;
  const Options& options_;
  testing::KernelProgram programs_[3];  // one for each mode
};

}  // namespace remotecl::bench
