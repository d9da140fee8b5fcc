#include "runtime/base/index_set.h"

#include <algorithm>

namespace remotecl {

void IndexSet::hold(std::uint64_t* words, std::size_t size) {
  word_ = reinterpret_cast<std::uintptr_t>(words);
  heap_size_ = size;
}

void IndexSet::grow(std::size_t size) {
  size = std::max(size, 2 * this->size());
  auto* const grown = new std::uint64_t[size]();
  std::copy_n(data(), this->size(), grown);
  if (heap_size_ != 0) delete[] heap();
  hold(grown, size);
}

void IndexSet::copy(const IndexSet& other) {
  auto* const words = new std::uint64_t[other.heap_size_];
  std::copy_n(other.heap(), other.heap_size_, words);
  hold(words, other.heap_size_);
}

bool IndexSet::equals(const IndexSet& other) const {
  const auto mine = words(), its = other.words();
  const std::size_t common = std::min(mine.size(), its.size());
  const auto is_zero = [](std::uint64_t word) { return word == 0; };
  return std::equal(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(common), its.begin()) &&
         std::all_of(mine.begin() + static_cast<std::ptrdiff_t>(common), mine.end(), is_zero) &&
         std::all_of(its.begin() + static_cast<std::ptrdiff_t>(common), its.end(), is_zero);
}

bool IndexSet::has_other_than(std::size_t at, std::uint64_t but) const {
  const auto words = this->words();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if ((i == at ? words[i] & ~but : words[i]) != 0) return true;
  }
  return false;
}

}  // namespace remotecl
