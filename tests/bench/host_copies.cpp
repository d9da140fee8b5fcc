#include "host_copies.h"

#include <algorithm>
#include <cstring>

namespace remotecl::bench {
namespace {

// Small copies are made many times in a row, so that waking the threads does not count, and from place to place, so
// that they do not stay in a core's own cache.
constexpr size_t kTurnBytes = size_t{4} * 1024 * 1024;

}  // namespace

HostCopies::HostCopies(size_t copies, size_t size)
    : size_(size),
      turns_(std::max<size_t>(1, kTurnBytes / size)),
      begun_(static_cast<std::ptrdiff_t>(copies + 1)),
      ended_(static_cast<std::ptrdiff_t>(copies + 1)),
      spans_(copies) {
  for (Span& span : spans_) threads_.emplace_back([this, &span] { serve(span); });
}

HostCopies::~HostCopies() {
  stopping_ = true;
  begun_.arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
}

double HostCopies::run() {
  begun_.arrive_and_wait();
  ended_.arrive_and_wait();
  // This thread may have been woken after the first of them.
  const auto first = std::min_element(spans_.begin(), spans_.end(),
                                      [](const Span& one, const Span& other) { return one.begin < other.begin; });
  const auto last = std::max_element(spans_.begin(), spans_.end(),
                                     [](const Span& one, const Span& other) { return one.end < other.end; });
  return std::chrono::duration<double>(last->end - first->begin).count() / static_cast<double>(turns_);
}

void HostCopies::serve(Span& span) {
  const std::vector<uint8_t> from(turns_ * size_, 1);
  std::vector<uint8_t> to(turns_ * size_, 2);
  for (;;) {
    begun_.arrive_and_wait();
    if (stopping_) return;
    span.begin = Clock::now();
    for (size_t turn = 0; turn < turns_; ++turn) {
      std::memcpy(to.data() + turn * size_, from.data() + turn * size_, size_);
    }
    span.end = Clock::now();
    ended_.arrive_and_wait();
  }
}

}  // namespace remotecl::bench
