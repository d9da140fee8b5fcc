#pragma once

#include <string>

#include "measure.h"
#include "opencl_side.h"
#include "options.h"

namespace remotecl::bench {

// Keeps the environment for the clients as it is now. The Khronos loader cuts OCL_ICD_FILENAMES in pieces in place, so
// call this before the first OpenCL function.
void remember_environment();

// What the bench does when it has started itself as a fresh client: from main() to the completion of a first
// kernel, whose result it checks. Prints the seconds to stdout; with --probe-dies it then kills itself with
// everything still open. Returns the exit status.
int run_startup_probe(const Options& options, const Stopwatch& since_main);

// The same for a client that writes 64 MiB again and again until it is killed. Prints a line when the first has
// arrived.
int run_streaming_probe(const Options& options);

// The same for one that launches kernels and never waits for any.
int run_flooding_probe(const Options& options);

// Such a client of a server, from its first bytes or kernels to the end of this object.
class Neighbour {
 public:
  enum class Kind { kStreams, kFloods };

  Neighbour(const DeviceChoice& choice, Kind kind);
  ~Neighbour();
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

 private:
  int pid_ = -1;
};

enum class Ending { kClean, kKilled };

// Runs such a client for a device and returns the seconds it reports; throws when it fails. A client of a
// native device does not get to see REMOTECL_SERVERS, so that it does not connect on the side.
double start_client(const DeviceChoice& choice, bool sees_servers, Ending ending);

}  // namespace remotecl::bench
