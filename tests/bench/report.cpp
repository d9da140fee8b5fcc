#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace remotecl::bench {
namespace {

using Row = std::vector<std::string>;

// Three significant digits, but never fewer than the integer part has.
std::string number(double value) {
  char text[32];
  const double magnitude = std::fabs(value);
  const int decimals = magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string number(const std::optional<double>& value) { return value ? number(*value) : "-"; }

Row make_row(const Result& result) {
  Row row{result.name, result.unit};
  const auto add_side = [&row](const std::optional<Summary>& side) {
    row.push_back(side ? number(side->median) : "-");
    row.push_back(side ? number(side->p99) : "-");
    row.push_back(side ? number(side->max) : "-");
  };
  add_side(result.sides.remotecl);
  add_side(result.sides.native);
  add_side(result.sides.raw);
  row.push_back(number(result.ceiling));
  row.push_back(number(result.ratio));
  row.push_back(number(result.target));
  row.push_back(!result.target ? "" : result.met ? "met" : "missed");
  std::string rule = result.target_rule;
  if (!rule.empty()) rule = (result.lower_is_better ? "<= " : ">= ") + rule;
  if (result.sides.base) rule += (rule.empty() ? "base " : ", base ") + number(result.sides.base->median);
  row.push_back(rule);
  return row;
}

// Text columns are flush left, numbers flush right.
bool is_text_column(size_t column, size_t columns) { return column < 2 || column + 2 >= columns; }

void print_rows(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += is_text_column(i, row.size()) ? row[i] + padding : padding + row[i];
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

void print_device(const char* side, const ClSide& device) {
  const DeviceChoice& choice = device.choice();
  std::printf("%-9s %s, %s, %s, driver %s\n", side, choice.device_name.c_str(), choice.platform_name.c_str(),
              choice.device_version.c_str(), choice.driver_version.c_str());
}

nlohmann::ordered_json device_json(const ClSide* side) {
  if (!side) return nullptr;
  const DeviceChoice& choice = side->choice();
  return {{"platform", choice.platform_name},
          {"device", choice.device_name},
          {"version", choice.device_version},
          {"driver", choice.driver_version}};
}

nlohmann::ordered_json value_json(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json field_json(const std::optional<Summary>& side, double Summary::*field) {
  return side ? nlohmann::ordered_json((*side).*field) : nlohmann::ordered_json(nullptr);
}

// The plain `p99` and `max` are remotecl's.
nlohmann::ordered_json result_json(const Result& result) {
  const auto& [remotecl, native, raw, base] = result.sides;
  return {{"name", result.name},
          {"unit", result.unit},
          {"better", result.lower_is_better ? "lower" : "higher"},
          {"repetitions", result.repetitions},
          {"remotecl", field_json(remotecl, &Summary::median)},
          {"native", field_json(native, &Summary::median)},
          {"raw", field_json(raw, &Summary::median)},
          {"base", field_json(base, &Summary::median)},
          {"ceiling", value_json(result.ceiling)},
          {"ratio", value_json(result.ratio)},
          {"p99", field_json(remotecl, &Summary::p99)},
          {"max", field_json(remotecl, &Summary::max)},
          {"native_p99", field_json(native, &Summary::p99)},
          {"native_max", field_json(native, &Summary::max)},
          {"raw_p99", field_json(raw, &Summary::p99)},
          {"raw_max", field_json(raw, &Summary::max)},
          {"target", value_json(result.target)},
          {"target_rule", result.target_rule},
          {"met", result.target ? nlohmann::ordered_json(result.met) : nlohmann::ordered_json(nullptr)}};
}

}  // namespace

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

void print_header(const Bench& bench, double load_before) {
  print_device("remotecl", bench.remotecl);
  if (bench.native) {
    print_device("native", *bench.native);
  } else {
    std::printf("%-9s none: this machine has no such device, so there is no native ceiling\n", "native");
  }
  std::printf("%-9s TCP on 127.0.0.1, one stream, TCP_NODELAY, default buffers\n", "raw");
  std::printf("%-9s %s\n", "build", REMOTECL_BUILD);
  std::printf("%-9s %s, %u cores, load average %.2f, %s\n\n", "machine", cpu_model().c_str(),
              std::thread::hardware_concurrency(), load_before, now_utc().c_str());
  std::fflush(stdout);
}

void print_table(const std::vector<Result>& results) {
  std::vector<Row> rows{{"case", "unit", "remotecl", "p99", "max", "native", "p99", "max", "raw", "p99", "max",
                         "ceiling", "ratio", "target", "", ""}};
  for (const Result& result : results) rows.push_back(make_row(result));
  print_rows(rows);
  std::printf(
      "\nMedians where nothing else is said; for rates, p99 and max are those of the slowest runs.\n"
      "ratio = remotecl / ceiling; the ceiling is raw + native for latencies, native for start-up, event\n"
      "time and kernel rates, and raw for bulk data. base is a simpler operation of remotecl's own, or what copies\n"
      "in memory take; where a rule names a base, the ceiling is what the rule multiplies.\n");
}

void write_json(const std::string& path, const Bench& bench, double load_before, const std::vector<Result>& results,
                const std::vector<std::string>& failures) {
  nlohmann::ordered_json document = {
      {"date", now_utc()},
      {"cpu", cpu_model()},
      {"cores", std::thread::hardware_concurrency()},
      {"load", load_before},
      {"build", REMOTECL_BUILD},
      {"quick", bench.options.quick},
      {"remotecl_device", device_json(&bench.remotecl)},
      {"native_device", device_json(bench.native)},
      {"failures", failures},
      {"results", nlohmann::ordered_json::array()},
  };
  for (const Result& result : results) document["results"].push_back(result_json(result));
  std::ofstream file(path);
  file << document.dump(2) << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace remotecl::bench
