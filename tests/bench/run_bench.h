#pragma once

#include <cstdio>
#include <exception>

namespace remotecl::bench {

// The main function of the benchmark `name`. An exception ends it, with its words and status 1.
inline int run_bench(const char* name, int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace remotecl::bench
