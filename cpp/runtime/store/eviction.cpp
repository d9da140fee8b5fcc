#include "runtime/store/eviction.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/crypto/secret.h"

namespace remotecl {
namespace {

using Entries = std::vector<Directory::Entry>;

constexpr std::int64_t kUnused_ns = std::int64_t{3} * 24 * 3600 * 1'000'000'000;
constexpr unsigned kOneOf = 8;  // one in so many of the newest entries stays

std::string_view owner_of(std::string_view name) { return name.substr(0, kOwnerDigits); }

std::mt19937 some_random() {
  std::uint32_t seed = 0;
  fill_random(std::as_writable_bytes(std::span(&seed, 1)));
  return std::mt19937(seed);
}

void sort_by_use(Entries& entries) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.used_ns < b.used_ns; });
}

// `excess`: the bytes to remove, which is how many have come since there was room.
void sort_scanned(Entries& entries, std::uint64_t excess) {
  sort_by_use(entries);
  const std::int64_t last_ns = entries.back().used_ns;
  const auto in_use = std::find_if(entries.begin(), entries.end(), [last_ns](const Directory::Entry& entry) {
    return last_ns - entry.used_ns <= kUnused_ns;
  });
  std::sort(in_use, entries.end(), [](const auto& a, const auto& b) { return a.written_ns > b.written_ns; });
  std::uint64_t size = 0;
  const auto newest = std::find_if(in_use, entries.end(), [&size, excess](const Directory::Entry& entry) {
    return std::exchange(size, size + entry.size) >= excess;
  });
  std::mt19937 random = some_random();
  const auto stays = std::partition(in_use, newest, [&random](const auto&) { return random() % kOneOf != 0; });
  std::shuffle(in_use, stays, random);
  std::shuffle(stays, entries.end(), random);
}

}  // namespace

std::vector<std::string> superfluous(Entries entries, std::uint64_t bound, Eviction order) {
  std::uint64_t total = 0;
  std::map<std::string, std::uint64_t, std::less<>> by_owner;
  for (const auto& entry : entries) {
    total += entry.size;
    by_owner[std::string(owner_of(entry.name))] += entry.size;
  }
  std::vector<std::string> names;
  if (total <= bound) return names;
  const std::uint64_t target = bound - bound / 10;
  order == Eviction::kScanned ? sort_scanned(entries, total - target) : sort_by_use(entries);
  for (const bool is_fair : {true, false}) {
    if (is_fair && by_owner.size() < 2) continue;
    for (auto& entry : entries) {
      if (total <= target) break;
      if (entry.name.empty()) continue;  // removed
      std::uint64_t& of_owner = by_owner.find(owner_of(entry.name))->second;
      if (is_fair && of_owner <= bound / 2) continue;
      total -= entry.size;
      of_owner -= entry.size;
      names.push_back(std::exchange(entry.name, {}));
    }
  }
  return names;
}

}  // namespace remotecl
