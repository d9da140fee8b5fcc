#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <type_traits>
#include <utility>

namespace remotecl::testing {

// Random decisions: the same for the same seed.
class Choice {
 public:
  explicit Choice(std::uint64_t seed) : random_(seed) {}

  bool one_in(unsigned count) { return random_() % count == 0; }
  std::size_t below(std::size_t count) { return random_() % count; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  // Mostly the first one.
  template <class T>
  T usually(T usual, std::initializer_list<std::type_identity_t<T>> others) {
    return one_in(6) ? of(others) : usual;
  }

 private:
  std::mt19937_64 random_;
};

// One of them, of which each comes as often as its weight says. `below` chooses a number below another one.
template <class T, std::size_t kCount, class Below>
const T& weighted(const std::pair<T, int> (&choices)[kCount], Below&& below) {
  int total = 0;
  for (const auto& [value, weight] : choices) total += weight;
  int left = static_cast<int>(below(static_cast<std::size_t>(total)));
  const auto* at = choices;
  while ((left -= at->second) >= 0) ++at;
  return at->first;
}

}  // namespace remotecl::testing
