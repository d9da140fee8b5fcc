#pragma once

#include <string>
#include <vector>

#include "cases.h"
#include "result.h"

namespace remotecl::bench {

// Over the last minute: what else the machine does, if asked before anything is measured.
double load_average();

void print_header(const Bench& bench, double load_before);
void print_table(const std::vector<Result>& results);
// Throws std::runtime_error when the file cannot be written.
void write_json(const std::string& path, const Bench& bench, double load_before, const std::vector<Result>& results,
                const std::vector<std::string>& failures);

}  // namespace remotecl::bench
