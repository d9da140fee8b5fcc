#include "runtime/client/support/kernel_text.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/base/printable.h"
#include "runtime/client/support/callback_thread.h"

namespace remotecl {

struct KernelText::Output {
  static constexpr std::size_t kPendingMax = 16u << 20;

  // Returns true if nothing was pending.
  bool add(Bytes added) EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    if (pending.size() + added.size() > kPendingMax) {
      lost += added.size();
      return false;
    }
    const bool is_first = pending.empty();
    pending += as_text(added);
    is_pending.store(true, std::memory_order_release);
    return is_first;
  }

  void write() EXCLUDES(turn, mutex) {
    if (!is_pending.load(std::memory_order_acquire)) return;
    const MutexLock whole(turn);  // over a write that may block: the text has an order
    std::string text;
    {
      const MutexLock lock(mutex);
      text.swap(pending);
      if (const auto count = std::exchange(lost, 0); count != 0) {
        text += "\nremotecl: " + std::to_string(count) +
                " bytes that kernels printed are missing here; nobody read this program's output in time\n";
      }
    }
    if (::isatty(::fileno(stdout)) == 1) text = for_terminal(as_bytes(text));
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    const MutexLock lock(mutex);
    if (pending.empty()) is_pending.store(false, std::memory_order_release);
  }

  std::string for_terminal(Bytes text) REQUIRES(turn) {
    constexpr char kFirstHalf = '\xc2';
    std::string all = is_half ? std::string(1, kFirstHalf) : std::string();
    all += as_text(text);
    is_half = !all.empty() && all.back() == kFirstHalf;
    if (is_half) all.pop_back();
    std::string shown;
    for (std::size_t from = 0; from < all.size();) {
      const std::size_t to = std::min(all.find_first_of("\n\t", from), all.size());
      shown += printable(std::string_view(all).substr(from, to - from));
      if (to < all.size()) shown += all[to];
      from = to + 1;
    }
    return shown;
  }

  Mutex turn;                             // of the thread that writes
  bool is_half GUARDED_BY(turn) = false;  // of a possible control character
  Mutex mutex;
  std::string pending GUARDED_BY(mutex);
  std::uint64_t lost GUARDED_BY(mutex) = 0;
  std::atomic<bool> is_pending{false};  // until it has been written
};

KernelText::KernelText() : output_(std::make_shared<Output>()) {}

void KernelText::add(Bytes text) {
  if (output_->add(text)) post_callback([output = output_] { output->write(); });
}

void KernelText::write() { output_->write(); }

std::string KernelText::for_terminal(Bytes text) {
  const MutexLock lock(output_->turn);
  return output_->for_terminal(text);
}

}  // namespace remotecl
