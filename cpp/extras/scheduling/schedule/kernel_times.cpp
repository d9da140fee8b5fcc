#include "extras/scheduling/schedule/kernel_times.h"

#include <algorithm>
#include <cmath>

namespace remotecl::schedule {
namespace {

// How many measurements count alike; of more, the latest ones count most.
constexpr std::uint8_t kCountMax = 8;
// Runs that differ by more than this factor show that something has changed.
constexpr double kChange = 2;

}  // namespace

KernelTimes::Forecast KernelTimes::at(double size) const {
  Forecast result;
  if (rows_.empty()) return result;
  const auto above = std::find_if(rows_.begin(), rows_.end(), [size](const Row& row) { return row.size > size; });
  const Row& high = above == rows_.end() ? rows_.back() : *above;
  const Row& low = above == rows_.begin() ? high : *std::prev(above);
  result.below_ = low.seconds.data();
  result.above_ = high.seconds.data();
  result.devices_ = columns_ - kShared;
  if (&low == &high) {
    result.below_share_ = std::max(size, 1.0) / low.size;
  } else {
    result.above_share_ = (size - low.size) / (high.size - low.size);
    result.below_share_ = 1 - result.above_share_;
  }
  return result;
}

void KernelTimes::record(DeviceId id, const Device& device, double size, Seconds seconds) {
  size = std::max(size, 1.0);
  if (!(seconds > 0) || !std::isfinite(seconds) || !std::isfinite(size)) return;
  columns_ = std::max(columns_, kShared + id + 1);
  for (Row& row : rows_) {
    row.seconds.resize(columns_);
    row.count.resize(columns_);
  }
  Row& row = row_for(size);
  const double at_row = seconds * row.size / size;
  learn(row, kShared + id, at_row);
  learn(row, static_cast<std::size_t>(device.type), at_row * device.speed);
  learn(row, kAnyType, at_row * device.speed);
  for (const std::size_t column : {kShared + id, static_cast<std::size_t>(device.type), kAnyType}) interpolate(column);
}

KernelTimes::Row& KernelTimes::row_for(double size) {
  const int power = std::ilogb(size);
  const auto at =
      std::find_if(rows_.begin(), rows_.end(), [=](const Row& row) { return std::ilogb(row.size) >= power; });
  if (at != rows_.end() && std::ilogb(at->size) == power) return *at;
  const auto index = at - rows_.begin();
  rows_.insert(at, {size, std::vector<float>(columns_), std::vector<std::uint8_t>(columns_)});
  for (std::size_t column = 0; column < columns_; ++column) interpolate(column);
  return rows_[static_cast<std::size_t>(index)];
}

void KernelTimes::learn(Row& row, std::size_t column, double seconds) {
  std::uint8_t& count = row.count[column];
  float& mean = row.seconds[column];
  // A kernel that does more or less than before, because its arguments say so, counts as a new one by half.
  const bool is_other = seconds > kChange * mean || kChange * seconds < mean;
  if (is_other) count = std::min(count, std::uint8_t{1});
  if (count < kCountMax) ++count;
  // What was interpolated counts nothing once there is a measurement.
  mean += static_cast<float>((seconds - mean) / count);
}

void KernelTimes::interpolate(std::size_t column) {
  const Row* before = nullptr;
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    Row& row = rows_[at];
    if (row.count[column] > 0) {
      before = &row;
      continue;
    }
    const auto rest = rows_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto found = std::find_if(rest, rows_.end(), [column](const Row& other) { return other.count[column] > 0; });
    const Row* after = found == rows_.end() ? nullptr : &*found;
    if (before && after) {
      const double share = (row.size - before->size) / (after->size - before->size);
      row.seconds[column] = static_cast<float>((1 - share) * before->seconds[column] + share * after->seconds[column]);
    } else if (const Row* nearest = before ? before : after) {
      row.seconds[column] = static_cast<float>(nearest->seconds[column] * row.size / nearest->size);
    }
  }
}

}  // namespace remotecl::schedule
