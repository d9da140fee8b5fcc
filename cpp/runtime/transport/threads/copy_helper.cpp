#include "runtime/transport/threads/copy_helper.h"

#include <atomic>
#include <cstring>

namespace remotecl {
namespace {

std::atomic<unsigned> g_helped{0};  // copies of this process that have a helper now

}  // namespace

void CopyHelper::copy(MutableBytes to, Bytes from) {
  if (from.empty()) return;
  if (helped_max_ != 0 && from.size() >= kWorthHelp && copy_with_help(to, from)) return;
  std::memcpy(to.data(), from.data(), from.size());
}

bool CopyHelper::copy_with_help(MutableBytes to, Bytes from) {
  const bool may = g_helped.fetch_add(1, std::memory_order_relaxed) < helped_max_ && helper_.is_there();
  if (may) {
    struct Halves {
      std::byte* to;
      const std::byte* from;
      std::size_t first, size;
    } const halves{to.data(), from.data(), from.size() / 2, from.size()};
    helper_.run([&halves](unsigned part) {
      const std::size_t begin = part == 0 ? 0 : halves.first;
      const std::size_t end = part == 0 ? halves.first : halves.size;
      std::memcpy(halves.to + begin, halves.from + begin, end - begin);
    });
  }
  g_helped.fetch_sub(1, std::memory_order_relaxed);
  return may;
}

}  // namespace remotecl
