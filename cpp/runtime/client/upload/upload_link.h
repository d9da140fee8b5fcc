#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace remotecl {

// Decides by earlier uploads to one server whether to offer: to ask first whether the server has the bytes already. Any
// thread.
class UploadLink {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Policy { kAuto, kOff, kAlways };

  // REMOTECL_UPLOADS
  static Policy policy_of_user();

  explicit UploadLink(Policy policy = policy_of_user()) : policy_(policy) {}

  // Whether a transfer that begins may be offered. `is_measurable`: the transport reports when bytes have arrived.
  bool may_begin(bool is_measurable);
  // Whether a transfer that may be offered should go on being offered.
  bool is_worthwhile() const;
  // Nothing was measured yet, so offers should be small.
  bool is_unknown() const { return bytes_per_s_.load(std::memory_order_relaxed) == 0; }
  // Whether other servers should be asked for what this one lacks. They are linked for that, so it must be known to
  // pay.
  bool should_borrow() const { return policy_ == Policy::kAlways || (!is_unknown() && is_worthwhile()); }
  std::uint64_t bytes_per_s() const { return static_cast<std::uint64_t>(bytes_per_s_.load(std::memory_order_relaxed)); }

  void hashed(std::uint64_t bytes, Clock::duration time);
  void sent(std::uint64_t bytes, Clock::duration time);
  // The server has answered. `keeps`: it keeps uploads at all.
  void answered(std::uint64_t found, std::uint64_t missing, bool keeps);

 private:
  // Hashing may take the sending thread at most a quarter of the time that sending takes.
  static constexpr double kSlower = 4;
  // After this many bytes of which nothing was found, only one transfer in kRetryEvery is offered. If hashing costs at
  // most a sixteenth of the time, all are, because only what was offered is there for the next process.
  static constexpr std::uint64_t kHopeless = 1u << 30;
  static constexpr double kMuchSlower = 16;
  static constexpr std::uint32_t kRetryEvery = 64;

  bool is_fast() const { return is_above(kSlower); }
  bool is_hopeless() const;
  // Whether the link is faster than hashing divided by `part`.
  bool is_above(double part) const;

  const Policy policy_;
  std::atomic<bool> is_refused_{false};
  std::atomic<double> hash_bytes_per_s_{0}, bytes_per_s_{0};
  std::atomic<std::uint64_t> missed_{0};  // since something was found
  std::atomic<std::uint32_t> skipped_{0};
};

}  // namespace remotecl
