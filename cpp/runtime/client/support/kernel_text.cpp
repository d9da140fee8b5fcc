#include "runtime/client/support/kernel_text.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "runtime/base/printable.h"

namespace remotecl {

void KernelText::write(Bytes text) {
  if (::isatty(::fileno(stdout)) == 1) {
    const std::string shown = for_terminal(text);
    std::fwrite(shown.data(), 1, shown.size(), stdout);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  std::fflush(stdout);
}

std::string KernelText::for_terminal(Bytes text) {
  constexpr char kFirstHalf = '\xc2';
  std::string all = is_half_ ? std::string(1, kFirstHalf) : std::string();
  all += as_text(text);
  is_half_ = !all.empty() && all.back() == kFirstHalf;
  if (is_half_) all.pop_back();
  std::string shown;
  for (std::size_t from = 0; from < all.size();) {
    const std::size_t to = std::min(all.find_first_of("\n\t", from), all.size());
    shown += printable(std::string_view(all).substr(from, to - from));
    if (to < all.size()) shown += all[to];
    from = to + 1;
  }
  return shown;
}

}  // namespace remotecl
