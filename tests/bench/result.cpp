#include "result.h"

#include <algorithm>

namespace remotecl::bench {
namespace {

constexpr double kStallMilliseconds = 10;

bool is_rate(Unit unit) { return unit == Unit::kKernelsPerSecond || unit == Unit::kGigabytesPerSecond; }

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::kMicroseconds:
      return "us";
    case Unit::kMilliseconds:
      return "ms";
    case Unit::kKernelsPerSecond:
      return "1/s";
    case Unit::kGigabytesPerSecond:
      return "GB/s";
  }
  return "";
}

double convert(const Case& measured, double seconds) {
  switch (measured.unit) {
    case Unit::kMicroseconds:
      return seconds * 1e6;
    case Unit::kMilliseconds:
      return seconds * 1e3;
    case Unit::kKernelsPerSecond:
      return measured.amount / seconds;
    case Unit::kGigabytesPerSecond:
      return measured.amount / seconds * 1e-9;
  }
  return seconds;
}

std::optional<Summary> summarize_side(const Case& measured, const std::vector<double>& seconds) {
  if (seconds.empty()) return std::nullopt;
  const Summary summary = summarize(seconds);
  return Summary{convert(measured, summary.median), convert(measured, summary.p99), convert(measured, summary.max)};
}

// Without a native device only the raw part of the ceiling is known.
std::optional<double> ceiling_of(const Case& measured, const PerSide<std::optional<Summary>>& sides) {
  const Ceiling ceiling = measured.ceiling;
  if (ceiling == Ceiling::kBase) return sides.base ? std::optional(sides.base->median) : std::nullopt;
  if (ceiling == Ceiling::kRawPlusBase) {
    if (!sides.raw || !sides.base) return std::nullopt;
    return sides.raw->median + sides.base->median;
  }
  if (ceiling == Ceiling::kSlower) {
    if (!sides.native || !sides.base) return std::nullopt;
    return is_rate(measured.unit) ? std::min(sides.native->median, sides.base->median)
                                  : std::max(sides.native->median, sides.base->median);
  }
  double sum = 0;
  if (ceiling != Ceiling::kRaw) {
    if (!sides.native) return std::nullopt;
    sum += sides.native->median;
  }
  if (ceiling != Ceiling::kNative) {
    if (!sides.raw) return std::nullopt;
    sum += sides.raw->median;
  }
  return sum;
}

std::optional<double> target_of(const Target& target, const PerSide<std::optional<Summary>>& sides,
                                const std::optional<double>& ceiling) {
  if (target.raw != 0 && !sides.raw) return std::nullopt;
  if (target.native != 0 && !sides.native) return std::nullopt;
  if (target.base != 0 && !sides.base) return std::nullopt;
  if (target.ceiling != 0 && !ceiling) return std::nullopt;
  double value = target.constant;
  if (ceiling) value += target.ceiling * *ceiling;
  if (sides.raw) value += target.raw * sides.raw->median;
  if (sides.native) value += target.native * sides.native->median;
  if (sides.base) value += target.base * sides.base->median;
  return value;
}

}  // namespace

Result make_result(const std::string& name, const Case& measured, const Samples& samples) {
  Result result;
  result.name = name;
  result.unit = unit_name(measured.unit);
  result.lower_is_better = !is_rate(measured.unit);
  result.small = measured.small;
  result.repetitions = measured.plan.repetitions;
  result.sides.remotecl = summarize_side(measured, samples.remotecl);
  result.sides.native = summarize_side(measured, samples.native);
  result.sides.raw = summarize_side(measured, samples.raw);
  result.sides.base = summarize_side(measured, samples.base);
  result.ceiling = ceiling_of(measured, result.sides);
  if (!result.sides.remotecl) return result;
  const double median = result.sides.remotecl->median;
  if (result.ceiling && *result.ceiling > 0) result.ratio = median / *result.ceiling;
  if (measured.target) {
    result.target_rule = measured.target->rule;
    result.target = target_of(*measured.target, result.sides, result.ceiling);
    if (result.target) {
      result.met = result.lower_is_better ? median <= *result.target : median >= *result.target;
    }
  }
  return result;
}

std::optional<Result> make_stall_result(const std::vector<Result>& results) {
  Result stall;
  stall.name = "longest-small-operation";
  stall.unit = "ms";
  stall.target = kStallMilliseconds;
  stall.target_rule = "10 ms";
  const auto take = [](const std::optional<Summary>& side, std::optional<Summary>& longest) {
    if (!side) return;
    const double milliseconds = std::max(side->max / 1000, longest ? longest->max : 0);
    longest = Summary{milliseconds, milliseconds, milliseconds};
  };
  for (const Result& result : results) {
    if (!result.small) continue;
    stall.repetitions += result.repetitions;
    take(result.sides.remotecl, stall.sides.remotecl);
    take(result.sides.native, stall.sides.native);
    take(result.sides.raw, stall.sides.raw);
  }
  if (!stall.sides.remotecl) return std::nullopt;
  stall.met = stall.sides.remotecl->max <= kStallMilliseconds;
  return stall;
}

}  // namespace remotecl::bench
