#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/transport/compression/compression_mode.h"

namespace remotecl {

// Says what becomes of each piece of one direction of a link, from the link's speed and from what compressing recent
// pieces has brought. Pure: has no clock, and knows no compressor.
class CompressionPolicy {
 public:
  enum class Step {
    kPlain,     // send it as it is
    kSample,    // compress a sample, report it to sampled(), and ask for this piece again
    kCompress,  // compress it, report that to compressed(), and send whatever that returns
  };

  explicit CompressionPolicy(CompressionMode mode) : mode_(mode) {}

  // For the next piece of this many bytes.
  Step next(std::size_t size);
  // A sample or a piece of `before` bytes has become `after`; `after` is `before` if it became no smaller.
  void sampled(std::size_t before, std::size_t after, double seconds);
  // Returns true if the compressed piece should be sent.
  bool compressed(std::size_t before, std::size_t after, double seconds);

  // Writing a compressed piece has taken so long.
  void wrote_compressed(double seconds) { spent_s_ += seconds; }
  // Writing so many bytes of the stream, which were not compressed, has taken so long.
  void wrote(std::size_t bytes, double seconds);
  // The link has delivered so many bytes in all, compressed or not, and needed so long; bytes 0: not known.
  void delivered(std::uint64_t bytes, double seconds);

  // Whether pieces should be no larger than needed to learn: the link is slow, or its speed is not known.
  bool is_interested() const;
  double link() const { return delivers_ != 0 ? delivers_ : writes_; }  // bytes per second; 0: unknown

  // Faster links are never worth compressing for: a core compresses less.
  static constexpr double kFastLink = 400e6;
  // Compressing and sending must take less than this part of sending alone to be worth it.
  static constexpr double kWorth = 0.97;
  // How much is measured at a time.
  static constexpr std::size_t kMeasured = 256u << 10;
  // The bytes sent as they are for a measurement: more, because some have not arrived when the next piece is sent.
  static constexpr std::size_t kMeasurement = 2 * kMeasured;
  // While pieces become small, nothing tells that the link is faster than it was, or than it seemed. So kMeasurement
  // bytes go as they are after so many times the time that they take. The measurement begins with them, because small
  // pieces before them were on their way for as long as a round trip, not as long as the link needs.
  static constexpr double kMeasureEvery = 50;
  // How much is sent as it is after a piece that did not become smaller, and at most after several.
  static constexpr std::size_t kPauseMin = 1u << 20, kPauseMax = 8u << 20;

 private:
  bool is_worth(double fraction) const;
  void learn(std::size_t before, std::size_t after, double seconds);
  void pause();

  const CompressionMode mode_;
  double writes_ = 0;     // as measured by writing, bytes per second; 0: not yet
  double delivers_ = 0;   // as measured by the system
  double speed_ = 300e6;  // of the compressor
  double written_s_ = 0;  // of the present measurement
  std::size_t written_ = 0;
  // The newest measurements. The fastest counts, because a process that does not get a processor sees a slow link.
  std::array<double, 3> rates_{};
  std::size_t rate_count_ = 0;
  struct Report {
    std::uint64_t bytes = 0;
    double seconds = 0;
  };
  Report reported_, measured_;  // the last one, and the one at which the present measurement began
  bool is_mixed_ = false;       // compressed pieces were sent since then
  double spent_s_ = 0;          // on these, since one was sent as it is for a measurement
  bool is_promising_ = false;
  std::size_t pause_left_ = 0, pause_ = 0;
};

}  // namespace remotecl
