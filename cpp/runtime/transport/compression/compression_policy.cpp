#include "runtime/transport/compression/compression_policy.h"

#include <algorithm>

namespace remotecl {
namespace {

// Stands for times that are too short to measure.
constexpr double kShortest = 1e-7;
// The part of the newest value in an average over a few.
constexpr double kNewest = 0.5;

}  // namespace

bool CompressionPolicy::is_interested() const {
  if (mode_ != CompressionMode::kAuto) return mode_ == CompressionMode::kAlways;
  const bool will_be_known = reported_.bytes != 0 && delivers_ == 0;
  return will_be_known || link() < kFastLink;
}

// Compressing a piece and sending another one overlap only as far as the socket's buffer reaches, so both count.
bool CompressionPolicy::is_worth(double fraction) const {
  if (mode_ == CompressionMode::kAlways) return fraction < 1;
  return 1 / speed_ + fraction / link() < kWorth / link();
}

CompressionPolicy::Step CompressionPolicy::next(std::size_t size) {
  if (mode_ == CompressionMode::kOff || size == 0) return Step::kPlain;
  if (mode_ == CompressionMode::kAlways) return Step::kCompress;
  const bool is_known = link() != 0 && (reported_.bytes == 0 || delivers_ != 0);
  if (!is_known || link() >= kFastLink) return Step::kPlain;
  if (spent_s_ * link() > kMeasureEvery * static_cast<double>(kMeasurement)) {
    spent_s_ = 0;
    measured_ = reported_;
    is_mixed_ = false;
    pause_left_ = std::max(pause_left_, kMeasurement);
  }
  if (pause_left_ > 0) {
    pause_left_ -= std::min(pause_left_, size);
    return Step::kPlain;
  }
  return is_promising_ ? Step::kCompress : Step::kSample;
}

void CompressionPolicy::learn(std::size_t before, std::size_t after, double seconds) {
  const double speed = static_cast<double>(before) / std::max(seconds, kShortest);
  // The compressor passes over incompressible bytes faster than it compresses others, so only the others count.
  if (after < before) speed_ += kNewest * (speed - speed_);
}

void CompressionPolicy::sampled(std::size_t before, std::size_t after, double seconds) {
  learn(before, after, seconds);
  is_promising_ = is_worth(static_cast<double>(after) / static_cast<double>(before));
  if (!is_promising_) pause();
}

bool CompressionPolicy::compressed(std::size_t before, std::size_t after, double seconds) {
  learn(before, after, seconds);
  spent_s_ += seconds;
  is_mixed_ = true;
  is_promising_ = is_worth(static_cast<double>(after) / static_cast<double>(before));
  if (is_promising_) {
    pause_ = 0;
  } else {
    pause();
  }
  // It has been compressed already, so its time is spent.
  return after < before;
}

void CompressionPolicy::pause() {
  pause_ = std::clamp(2 * pause_, kPauseMin, kPauseMax);
  pause_left_ = pause_;
}

void CompressionPolicy::wrote(std::size_t bytes, double seconds) {
  written_ += bytes;
  written_s_ += seconds;
  if (written_ < kMeasured) return;
  writes_ = static_cast<double>(written_) / std::max(written_s_, kShortest);
  written_ = 0;
  written_s_ = 0;
}

void CompressionPolicy::delivered(std::uint64_t bytes, double seconds) {
  if (reported_.bytes == 0 || bytes < reported_.bytes) measured_ = {bytes, seconds};  // of another connection
  reported_ = {bytes, seconds};
  if (bytes - measured_.bytes < kMeasured) return;
  const double rate = static_cast<double>(bytes - measured_.bytes) / std::max(seconds - measured_.seconds, kShortest);
  if (!is_mixed_ || rate > delivers_) rates_[rate_count_++ % rates_.size()] = rate;
  if (rate_count_ >= rates_.size()) delivers_ = *std::max_element(rates_.begin(), rates_.end());
  measured_ = reported_;
  is_mixed_ = false;
}

}  // namespace remotecl
