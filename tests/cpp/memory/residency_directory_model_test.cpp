#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "residency_vocabulary.h"
#include "runtime/memory/residency_directory.h"

namespace remotecl {
namespace {

// The same rules for one byte at a time.
class Model {
 public:
  explicit Model(std::uint64_t size) : bytes_(size) {}

  template <class Function>
  void each(ByteRange range, Function function) {
    for (std::uint64_t i = range.offset; i < bytes_.size() && i - range.offset < range.size; ++i) {
      function(i, bytes_[i]);
    }
  }

  void write(ByteRange range, Location location) {
    const std::uint64_t newest = this->newest(range);
    each(range, [&](std::uint64_t, Byte& byte) { byte = {at(location), newest + 1, {}}; });
  }
  void write(ByteRange range, Location location, const Ref<const Doubt>& doubt) {
    const std::uint64_t newest = this->newest(range);
    each(range, [&](std::uint64_t, Byte& byte) {
      byte.former.push_back({doubt, byte.holders});
      byte.holders = at(location);
      byte.version = newest + 1;
    });
  }
  void settle() {
    each({0, bytes_.size()}, [](std::uint64_t, Byte& byte) {
      while (!byte.former.empty()) {
        const Doubt::Outcome outcome = byte.former.back().doubt->outcome();
        if (outcome == Doubt::Outcome::kOpen) return;
        if (outcome == Doubt::Outcome::kTakesPlace) return byte.former.clear();
        byte.holders = byte.former.back().holders;
        ++byte.version;
        byte.former.pop_back();
      }
    });
  }
  void add_holder(ByteRange range, Location location) {
    each(range, [&](std::uint64_t, Byte& byte) {
      if (!byte.holders.empty()) byte.holders.add(location);
    });
  }
  void forget(ByteRange range) {
    each(range, [&](std::uint64_t, Byte& byte) { byte = {{}, byte.version + 1, {}}; });
  }
  void drop_copy(ByteRange range, Location location) {
    each(range, [&](std::uint64_t, Byte& byte) {
      if (byte.holders != at(location)) byte.holders.remove(location);
    });
  }
  bool defined(ByteRange range) {
    bool all = true;
    each(range, [&](std::uint64_t, Byte& byte) { all = all && !byte.holders.empty(); });
    return all;
  }
  void restore(ByteRange range, Location location, const LocationSet& holders) {
    each(range, [&](std::uint64_t, Byte& byte) {
      if (!byte.holders.contains(location)) return;
      byte.holders.remove(location);
      if (!byte.holders.empty()) return;
      byte.holders = holders;
      byte.former.clear();
    });
  }
  HeldRanges missing(ByteRange range, Location location) {
    HeldRanges result;
    each(range, [&](std::uint64_t i, Byte& byte) {
      if (byte.holders.empty() || byte.holders.contains(location)) return;
      const bool joins = !result.empty() && result.back().holders == byte.holders &&
                         result.back().range.offset + result.back().range.size == i;
      if (!joins) result.push_back({{i, 0}, byte.holders});
      ++result.back().range.size;
    });
    return result;
  }
  Entries entries() {
    Entries result;
    each({0, bytes_.size()}, [&](std::uint64_t i, Byte& byte) {
      const bool joins =
          !result.empty() && result.back().holders == byte.holders && result.back().version == byte.version;
      if (!joins) result.push_back({{i, 0}, byte.holders, byte.version});
      ++result.back().range.size;
    });
    return result;
  }

 private:
  struct Former {
    Ref<const Doubt> doubt;
    LocationSet holders;
  };
  struct Byte {
    LocationSet holders;
    std::uint64_t version = 0;
    std::vector<Former> former;
  };
  std::uint64_t newest(ByteRange range) {
    std::uint64_t newest = 0;
    each(range, [&](std::uint64_t, Byte& byte) { newest = std::max(newest, byte.version); });
    return newest;
  }
  std::vector<Byte> bytes_;
};

class FakeDoubt final : public Doubt {
 public:
  explicit FakeDoubt(Location at) : Doubt(at) {}
  Outcome outcome() const override { return known; }
  Outcome known = Outcome::kOpen;
};

class RandomisedResidencyDirectoryTest : public ::testing::Test {
 protected:
  void run(std::uint64_t size, int steps) {
    ResidencyDirectory directory(size);
    Model model(size);
    doubts_.clear();
    for (int i = 0; i < steps && !HasFailure(); ++i) {
      SCOPED_TRACE("size " + std::to_string(size) + ", step " + std::to_string(i));
      change(directory, model);
      check_entries(directory, model);
      check_queries(directory, model);
    }
  }

  std::mt19937_64 random_;

 private:
  std::vector<Ref<FakeDoubt>> doubts_;

  std::uint64_t number(std::uint64_t below) { return random_() % below; }

  ByteRange any_range(std::uint64_t size) {
    if (number(8) == 0) return {0, size};
    if (number(20) == 0) return {number(size + 3), kWhole - number(2)};
    return {number(size + 3), number(size / 2 + 3)};
  }
  Location any_location() {
    static constexpr Location kLocations[] = {kHost, kA, kB, kLocationMax};
    return kLocations[number(std::size(kLocations))];
  }

  void change(ResidencyDirectory& directory, Model& model) {
    const ByteRange range = any_range(directory.size());
    const Location location = any_location();
    switch (number(10)) {
      case 8: {
        const auto doubt = make_ref<FakeDoubt>(location);
        doubts_.push_back(doubt);
        const auto former = [&](const LocationSet& holders, const Ref<FormerContent>& before) {
          if (before) before->forget_earlier();
          return make_ref<FormerContent>(doubt, holders, before, 0);
        };
        directory.write(range, location, former);
        model.write(range, location, doubt);
        break;
      }
      case 9:
        // What has become known counts in all places at once.
        for (int i = 0; i < 3 && !doubts_.empty(); ++i) {
          FakeDoubt& doubt = *doubts_[number(doubts_.size())];
          if (doubt.known != Doubt::Outcome::kOpen) continue;
          doubt.known = number(3) == 0 ? Doubt::Outcome::kTakesPlace : Doubt::Outcome::kDoesNot;
        }
        directory.settle({0, kWhole}, [](ByteRange, const FormerContent&) {});
        model.settle();
        break;
      case 0:
      case 1:
        directory.write(range, location);
        model.write(range, location);
        break;
      case 2:
      case 3:
        directory.add_holder(range, location);
        model.add_holder(range, location);
        EXPECT_TRUE(directory.valid(range, location));
        break;
      case 4: {
        const Location holder = any_location();
        directory.restore(range, location, at(holder));
        model.restore(range, location, at(holder));
        break;
      }
      case 5:
        directory.forget(range);
        model.forget(range);
        break;
      default:
        directory.drop_copy(range, location);
        model.drop_copy(range, location);
    }
  }

  // Without what was there before.
  static HeldRanges joined(const HeldRanges& parts) {
    HeldRanges result;
    for (const ResidencyDirectory::HeldRange& part : parts) {
      const bool joins = !result.empty() && result.back().holders == part.holders &&
                         result.back().range.offset + result.back().range.size == part.range.offset;
      if (!joins) result.push_back({{part.range.offset, 0}, part.holders});
      result.back().range.size += part.range.size;
    }
    return result;
  }

  static void check_entries(const ResidencyDirectory& directory, Model& model) {
    const Entries entries = directory.entries();
    EXPECT_EQ(entries, model.entries());
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      EXPECT_EQ(entries[i].range.offset, next);
      EXPECT_GT(entries[i].range.size, 0u);
      next = entries[i].range.offset + entries[i].range.size;
      if (i == 0) continue;
      const bool equal = entries[i].holders == entries[i - 1].holders && entries[i].version == entries[i - 1].version;
      EXPECT_FALSE(equal) << "entries " << i - 1 << " and " << i;
    }
    EXPECT_EQ(next, directory.size());
  }

  void check_queries(const ResidencyDirectory& directory, Model& model) {
    const ByteRange range = any_range(directory.size());
    const Location to = any_location();
    const HeldRanges transfers = joined(missing(directory, range, to));
    EXPECT_EQ(transfers, model.missing(range, to));
    EXPECT_EQ(directory.valid(range, to), transfers.empty());
    EXPECT_EQ(directory.defined(range), model.defined(range));
    for (const ResidencyDirectory::HeldRange& transfer : transfers) {
      EXPECT_FALSE(transfer.holders.empty());
      EXPECT_FALSE(transfer.holders.contains(to)) << "names the receiver as a source";
    }
  }
};

// REMOTECL_TEST_SEED repeats a run.
std::uint64_t test_seed() {
  const char* given = std::getenv("REMOTECL_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 0) : std::random_device{}();
}

TEST_F(RandomisedResidencyDirectoryTest, AgreesWithTheModel) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("REMOTECL_TEST_SEED=" + std::to_string(seed));
  std::cout << "REMOTECL_TEST_SEED=" << seed << std::endl;
  random_.seed(seed);
  for (std::uint64_t size = 0; size <= 24 && !HasFailure(); ++size) run(size, 2000);
  for (int i = 0; i < 200 && !HasFailure(); ++i) run(64, 100);
  if (!HasFailure()) run(300, 5000);
}

TEST(ResidencyDirectoryDoubts, EndWhenAllIsKnown) {
  ResidencyDirectory directory(100);
  const auto doubt = make_ref<FakeDoubt>(1);
  directory.write({0, 50}, 1, [&doubt](const LocationSet& holders, const Ref<FormerContent>& before) {
    return make_ref<FormerContent>(doubt, holders, before, 0);
  });
  directory.settle({0, 100}, [](ByteRange, const FormerContent&) {});
  EXPECT_TRUE(directory.has_doubts());
  doubt->known = Doubt::Outcome::kTakesPlace;
  directory.settle({0, 100}, [](ByteRange, const FormerContent&) {});
  EXPECT_FALSE(directory.has_doubts());
}

}  // namespace
}  // namespace remotecl
