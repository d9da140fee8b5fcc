#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace remotecl {

// A set of small numbers, one bit each. Numbers below 64 are in the object itself; the first larger one moves
// all bits to the heap. So a set of a few servers or devices costs no more than a word, and 1,024 are possible.
// Not synchronised.
class IndexSet {
 public:
  IndexSet() = default;
  IndexSet(std::initializer_list<std::uint32_t> indices) {
    for (const std::uint32_t index : indices) add(index);
  }
  IndexSet(const IndexSet& other) : word_(other.word_) {
    if (other.heap_size_ != 0) [[unlikely]]
      copy(other);
  }
  IndexSet(IndexSet&& other) noexcept
      : word_(std::exchange(other.word_, 0)), heap_size_(std::exchange(other.heap_size_, 0)) {}
  IndexSet& operator=(const IndexSet& other) {
    if (heap_size_ == 0 && other.heap_size_ == 0) [[likely]] {
      word_ = other.word_;
      return *this;
    }
    return *this = IndexSet(other);
  }
  IndexSet& operator=(IndexSet&& other) noexcept {
    std::swap(word_, other.word_);
    std::swap(heap_size_, other.heap_size_);
    return *this;
  }
  ~IndexSet() {
    if (heap_size_ != 0) [[unlikely]]
      delete[] heap();
  }

  void add(std::uint32_t index) {
    if (index / 64 >= size()) [[unlikely]]
      grow(index / 64 + 1);
    data()[index / 64] |= bit(index);
  }
  void remove(std::uint32_t index) {
    if (index / 64 < size()) data()[index / 64] &= ~bit(index);
  }
  void clear() { *this = IndexSet(); }

  bool contains(std::uint32_t index) const { return index / 64 < size() && (data()[index / 64] & bit(index)) != 0; }
  bool empty() const { return heap_size_ == 0 ? word_ == 0 : !has_other_than(0, 0); }
  // Whether any other number is in the set.
  bool contains_other_than(std::uint32_t index) const {
    if (heap_size_ == 0) [[likely]]
      return (index < 64 ? word_ & ~bit(index) : word_) != 0;
    return has_other_than(index / 64, bit(index));
  }
  bool is_only(std::uint32_t index) const { return contains(index) && !contains_other_than(index); }

  // Calls f(index) for each number, the lowest first.
  template <class F>
  void for_each(F&& f) const {
    const auto words = this->words();
    for (std::size_t at = 0; at < words.size(); ++at) {
      for (std::uint64_t left = words[at]; left != 0; left &= left - 1) {
        f(static_cast<std::uint32_t>(at * 64 + static_cast<std::size_t>(std::countr_zero(left))));
      }
    }
  }
  // The bits, those of 0 to 63 in the first word.
  std::span<const std::uint64_t> words() const { return {data(), size()}; }

  friend bool operator==(const IndexSet& one, const IndexSet& other) {
    if (one.heap_size_ == 0 && other.heap_size_ == 0) [[likely]]
      return one.word_ == other.word_;
    return one.equals(other);
  }

 private:
  static std::uint64_t bit(std::uint32_t index) { return std::uint64_t{1} << index % 64; }
  std::uint64_t* heap() const { return reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(word_)); }
  std::uint64_t* data() { return heap_size_ == 0 ? &word_ : heap(); }
  const std::uint64_t* data() const { return heap_size_ == 0 ? &word_ : heap(); }
  std::size_t size() const { return heap_size_ == 0 ? 1 : heap_size_; }
  void hold(std::uint64_t* words, std::size_t size);
  void grow(std::size_t size);
  void copy(const IndexSet& other);
  bool equals(const IndexSet& other) const;
  bool has_other_than(std::size_t at, std::uint64_t but) const;

  std::uint64_t word_ = 0;     // the bits, or the address of the words on the heap
  std::size_t heap_size_ = 0;  // in words; 0: nothing is on the heap
};

}  // namespace remotecl
