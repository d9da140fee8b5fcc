#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"

namespace remotecl::testing {

// The writing end of a connection with the faults of a bad network, in memory: it has little room, takes writes in
// pieces, late, and breaks. It keeps the bytes that it took until the test takes them. Nothing can be read from it. The
// same seed gives the same faults. Any thread.
class FaultConnection final : public Connection {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max() / 2;

  struct Faults {
    std::size_t room = kUnlimited;          // for all bytes, until set_room()
    std::size_t piece_max = kUnlimited;     // of one try_write()
    std::size_t breaks_after = kUnlimited;  // as many bytes
    std::chrono::microseconds delay_max{0};
    std::uint64_t seed = 0;  // not 0: pieces and delays are of any size up to these
  };

  FaultConnection() : FaultConnection(Faults{}) {}
  explicit FaultConnection(const Faults& faults)
      : faults_(faults), random_(faults.seed), room_(faults.room), intact_(faults.breaks_after) {}

  using Connection::write;
  std::size_t read_some(MutableBytes /*to*/) override { return 0; }
  std::ptrdiff_t try_read_some(MutableBytes /*to*/) override { return -1; }
  bool write(iovec* parts, int count) override {
    delay();
    const MutexLock lock(mutex_);
    for (int i = 0; i < count; ++i) {
      Bytes left(static_cast<const std::byte*>(parts[i].iov_base), parts[i].iov_len);
      while (!left.empty() && !is_broken_) {
        const std::size_t taken = take_in(left);
        left = left.subspan(taken);
        if (taken == 0 && !is_broken_) changed_.wait(mutex_);
      }
    }
    ++writes_;
    changed_.notify_all();
    return !is_broken_;
  }
  std::ptrdiff_t try_write(Bytes from) override {
    delay();
    const MutexLock lock(mutex_);
    if (is_broken_) return -1;
    const std::size_t taken = take_in(from.first(std::min(from.size(), up_to(faults_.piece_max))));
    ++writes_;
    changed_.notify_all();
    return static_cast<std::ptrdiff_t>(taken);
  }
  int wait_handle() const override { return -1; }
  void await_writable(std::chrono::milliseconds time) override {
    const MutexLock lock(mutex_);
    if (room_ == 0 && !is_broken_) changed_.wait_for(mutex_, time);
  }
  void set_read_timeout(std::chrono::milliseconds /*timeout*/) override {}
  void shutdown() override {
    const MutexLock lock(mutex_);
    is_broken_ = true;
    changed_.notify_all();
  }

  // How many more bytes it takes.
  void set_room(std::size_t room) {
    const MutexLock lock(mutex_);
    room_ = room;
    changed_.notify_all();
  }
  bool is_broken() const {
    const MutexLock lock(mutex_);
    return is_broken_;
  }
  int writes() const {
    const MutexLock lock(mutex_);
    return writes_;
  }
  // How many bytes have been written in all.
  std::size_t written() const {
    const MutexLock lock(mutex_);
    return written_;
  }
  // Whether so many come, sooner or later.
  bool comes_to(std::size_t size) const {
    const MutexLock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (written_ < size) {
      if (changed_.wait_until(mutex_, end) == std::cv_status::timeout) return false;
    }
    return true;
  }
  // Moves the oldest bytes that it has kept to `to`. Returns how many.
  std::size_t take(MutableBytes to) {
    const MutexLock lock(mutex_);
    const std::size_t count = std::min(to.size(), kept_.size());
    if (count != 0) std::memcpy(to.data(), kept_.data(), count);
    kept_.consume(count);
    return count;
  }

 private:
  std::size_t up_to(std::size_t most) REQUIRES(mutex_) {
    if (faults_.seed == 0 || most == kUnlimited) return most;
    return std::uniform_int_distribution<std::size_t>(1, most)(random_);
  }
  void delay() {
    if (faults_.delay_max.count() == 0) return;
    std::size_t microseconds = 0;
    {
      const MutexLock lock(mutex_);
      microseconds = up_to(static_cast<std::size_t>(faults_.delay_max.count()));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  }
  // Returns how many of the bytes there is room for.
  std::size_t take_in(Bytes from) REQUIRES(mutex_) {
    const std::size_t count = std::min({from.size(), room_, intact_});
    kept_.append(from.first(count));
    room_ -= count;
    intact_ -= count;
    written_ += count;
    is_broken_ = is_broken_ || intact_ == 0;
    return count;
  }

  const Faults faults_;
  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  std::mt19937_64 random_ GUARDED_BY(mutex_);
  std::size_t room_ GUARDED_BY(mutex_);
  std::size_t intact_ GUARDED_BY(mutex_);  // bytes until it breaks
  std::size_t written_ GUARDED_BY(mutex_) = 0;
  int writes_ GUARDED_BY(mutex_) = 0;
  bool is_broken_ GUARDED_BY(mutex_) = false;
  ByteBuffer kept_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::testing
