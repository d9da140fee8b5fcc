#pragma once

#include <string>
#include <vector>

#include "cases.h"
#include "result.h"

namespace remotecl::bench {

void print_header(const Bench& bench);
void print_table(const std::vector<Result>& results);
// Throws std::runtime_error when the file cannot be written.
void write_json(const std::string& path, const Bench& bench, const std::vector<Result>& results,
                const std::vector<std::string>& failures);

}  // namespace remotecl::bench
