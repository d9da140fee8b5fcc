#include "runtime/store/eviction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace remotecl::testing {
namespace {

constexpr std::uint64_t kSize = 1000;  // of an entry
constexpr std::int64_t kDay_ns = std::int64_t{24} * 3600 * 1'000'000'000;

// A store of so many entries that looks for each one of a model, and keeps what it has not found.
class SimulatedStore {
 public:
  SimulatedStore(std::size_t entries, Eviction order) : bound_(entries * kSize), order_(order) {}

  // Returns the part that was found.
  double load(int model, int chunks, const std::string& owner = "alice") {
    int found = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      found += use(owner + std::string(kOwnerDigits - owner.size(), '.') + std::to_string(model) + "-" +
                   std::to_string(chunk));
    }
    return static_cast<double>(found) / chunks;
  }
  void wait(std::int64_t time_ns) { now_ns_ += time_ns; }

 private:
  bool use(const std::string& name) {
    ++now_ns_;
    const auto at = entries_.find(name);
    if (at != entries_.end()) {
      at->second.used_ns = now_ns_;
      return true;
    }
    entries_[name] = {name, kSize, now_ns_, now_ns_};
    std::vector<Directory::Entry> all;
    for (const auto& [each, entry] : entries_) all.push_back(entry);
    if (all.size() * kSize <= bound_) return false;
    for (const std::string& removed : superfluous(std::move(all), bound_, order_)) entries_.erase(removed);
    return false;
  }

  const std::uint64_t bound_;
  const Eviction order_;
  std::int64_t now_ns_ = 0;
  std::map<std::string, Directory::Entry> entries_;
};

TEST(EvictionTest, AModelThatIsLargerThanTheStoreIsFoundInGoodPart) {
  for (const int chunks : {400, 700}) {
    SimulatedStore least_recent(300, Eviction::kLeastRecent), scanned(300, Eviction::kScanned);
    double found = 0;
    for (int process = 0; process < 12; ++process) {
      EXPECT_EQ(least_recent.load(1, chunks), 0);
      found = scanned.load(1, chunks);
    }
    EXPECT_GT(found, 0.7 * 300 / chunks) << chunks;
  }
}

TEST(EvictionTest, ASecondModelDisplacesTheFirstOneInTheEnd) {
  SimulatedStore store(300, Eviction::kScanned);
  for (int process = 0; process < 3; ++process) store.load(1, 250);
  EXPECT_EQ(store.load(1, 250), 1);
  double found = 0;
  for (int process = 0; process < 40; ++process) found = store.load(2, 250);
  EXPECT_GT(found, 0.6);
}

TEST(EvictionTest, WhatWasNotUsedForDaysGoesFirst) {
  SimulatedStore store(300, Eviction::kScanned);
  store.load(1, 250);
  store.wait(4 * kDay_ns);
  store.load(2, 250);
  EXPECT_EQ(store.load(2, 250), 1);
}

TEST(EvictionTest, ALargeModelTakesNothingFromOtherOwners) {
  SimulatedStore store(300, Eviction::kScanned);
  store.load(1, 100, "bob");
  for (int process = 0; process < 5; ++process) store.load(2, 1000, "alice");
  EXPECT_EQ(store.load(1, 100, "bob"), 1);
}

TEST(EvictionTest, NothingGoesWhileThereIsRoom) {
  for (const Eviction order : {Eviction::kLeastRecent, Eviction::kScanned}) {
    EXPECT_TRUE(superfluous({}, 100, order).empty());
    EXPECT_TRUE(superfluous({{"a", 60, 1, 1}, {"b", 40, 2, 2}}, 100, order).empty());
    EXPECT_EQ(superfluous({{"a", 60, 1, 1}, {"b", 41, 2, 2}}, 100, order).size(), 1u);
    EXPECT_EQ(superfluous({{"a", 600, 1, 1}, {"b", 410, 2, 2}}, 100, order).size(), 2u);
  }
}

}  // namespace
}  // namespace remotecl::testing
