// Launches as many empty kernels as its argument says on the first device, and waits for them: what
// instruction_counts.py counts the instructions of.
#include <cstdio>
#include <cstdlib>

#include "opencl_side.h"

int main(int argc, char** argv) {
  using namespace remotecl::bench;
  try {
    const int count = argc > 1 ? std::atoi(argv[1]) : 1;
    const ClSide side(find_device("remotecl", 0));
    for (int i = 0; i < count; ++i) ClSide::enqueue(side.queue(), side.no_op());
    ClSide::finish(side.queue());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remotecl-launches: %s\n", error.what());
    return 1;
  }
}
