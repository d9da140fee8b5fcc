#include "runtime/memory/residency_directory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "residency_vocabulary.h"

namespace {

thread_local std::size_t allocations = 0;

}  // namespace

// Not inlined: the compiler would take malloc() and free() for mismatched pairs with the other operators.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace remotecl {
namespace {

TEST(ResidencyDirectory, StartsUndefined) {
  const ResidencyDirectory directory(100);
  EXPECT_EQ(directory.size(), 100u);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, {}, 0}}));
  EXPECT_TRUE(directory.valid({0, 100}, kHost));
  EXPECT_TRUE(directory.valid({0, 100}, kA));
  EXPECT_EQ(missing(directory, {0, 100}, kA), HeldRanges{});
}

TEST(ResidencyDirectory, WriterIsTheOnlyHolder) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kA);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kA), 1}}));
  EXPECT_TRUE(directory.valid({0, 100}, kA));
  EXPECT_FALSE(directory.valid({0, 100}, kB));
  EXPECT_FALSE(directory.valid({99, 1}, kHost));
  EXPECT_EQ(missing(directory, {10, 20}, kB), (HeldRanges{{{10, 20}, at(kA)}}));
  EXPECT_EQ(missing(directory, {10, 20}, kA), HeldRanges{});
}

TEST(ResidencyDirectory, ReadersAreAdded) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kA);
  directory.add_holder({0, 100}, kB);
  directory.add_holder({0, 100}, kHost);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kA, kB, kHost), 1}}));
  EXPECT_TRUE(directory.valid({0, 100}, kA));
  EXPECT_TRUE(directory.valid({0, 100}, kHost));
  EXPECT_EQ(missing(directory, {0, 100}, kC), (HeldRanges{{{0, 100}, at(kHost, kA, kB)}}));
}

TEST(ResidencyDirectory, HoldersAreThoseOfDefinedParts) {
  ResidencyDirectory directory(100);
  directory.write({10, 30}, kA);
  directory.write({40, 20}, kB);
  directory.add_holder({40, 10}, kHost);
  HeldRanges found;
  directory.holders({0, 55}, found);
  EXPECT_EQ(found, (HeldRanges{{{10, 30}, at(kA)}, {{40, 10}, at(kB, kHost)}, {{50, 5}, at(kB)}}));
}

TEST(ResidencyDirectory, NextWriteInvalidatesReaders) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kA);
  directory.add_holder({0, 100}, kB);
  directory.write({0, 100}, kC);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kC), 2}}));
  EXPECT_FALSE(directory.valid({0, 100}, kA));
  EXPECT_FALSE(directory.valid({0, 100}, kB));
}

TEST(ResidencyDirectory, HolderThatWritesAgainGetsANewVersion) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kA);
  directory.write({0, 100}, kA);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kA), 2}}));
}

TEST(ResidencyDirectory, PartialWriteSplits) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kA);
  directory.write({30, 20}, kB);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 30}, at(kA), 1}, {{30, 20}, at(kB), 2}, {{50, 50}, at(kA), 1}}));
  EXPECT_EQ(missing(directory, {0, 100}, kA), (HeldRanges{{{30, 20}, at(kB)}}));
  EXPECT_EQ(missing(directory, {0, 100}, kB), (HeldRanges{{{0, 30}, at(kA)}, {{50, 50}, at(kA)}}));
  EXPECT_TRUE(directory.valid({0, 30}, kA));
  EXPECT_FALSE(directory.valid({0, 31}, kA));
  EXPECT_TRUE(directory.valid({30, 20}, kB));
  EXPECT_FALSE(directory.valid({29, 20}, kB));
  EXPECT_TRUE(directory.valid({50, 50}, kA));
  EXPECT_FALSE(directory.valid({49, 51}, kA));
}

TEST(ResidencyDirectory, WholeWriteJoinsEverything) {
  ResidencyDirectory directory(100);
  directory.write({0, 50}, kA);
  directory.write({30, 20}, kB);
  directory.write({30, 5}, kC);
  directory.write({0, 100}, kA);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kA), 4}})) << "newer than the newest";
}

TEST(ResidencyDirectory, WritesSideBySideMerge) {
  ResidencyDirectory directory(100);
  directory.write({0, 10}, kA);
  directory.write({20, 10}, kA);
  EXPECT_EQ(directory.entries().size(), 4u);
  directory.write({10, 10}, kA);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 30}, at(kA), 1}, {{30, 70}, {}, 0}}));
  directory.write({30, 70}, kA);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kA), 1}}));
}

TEST(ResidencyDirectory, UndefinedPartsAreNeverMissing) {
  ResidencyDirectory directory(100);
  directory.write({40, 20}, kA);
  EXPECT_EQ(missing(directory, {0, 100}, kB), (HeldRanges{{{40, 20}, at(kA)}}));
  EXPECT_TRUE(directory.valid({0, 40}, kB));
  EXPECT_TRUE(directory.valid({60, 40}, kB));
  EXPECT_FALSE(directory.valid({0, 41}, kB));
}

TEST(ResidencyDirectory, UndefinedPartsGetNoHolder) {
  ResidencyDirectory directory(100);
  directory.write({40, 20}, kA);
  directory.add_holder({0, 100}, kB);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 40}, {}, 0}, {{40, 20}, at(kA, kB), 1}, {{60, 40}, {}, 0}}));
}

TEST(ResidencyDirectory, TransfersWithTheSameHoldersMergeAcrossVersions) {
  ResidencyDirectory directory(100);
  directory.write({0, 50}, kA);
  directory.write({0, 50}, kA);
  directory.write({50, 50}, kA);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 50}, at(kA), 2}, {{50, 50}, at(kA), 1}}));
  EXPECT_EQ(missing(directory, {10, 80}, kB), (HeldRanges{{{10, 80}, at(kA)}}));
  directory.add_holder({50, 50}, kC);
  EXPECT_EQ(missing(directory, {10, 80}, kB), (HeldRanges{{{10, 40}, at(kA)}, {{50, 40}, at(kA, kC)}}));
}

TEST(ResidencyDirectory, TransfersDoNotMergeAcrossWhatIsThere) {
  ResidencyDirectory directory(30);
  directory.write({0, 30}, kA);
  directory.add_holder({10, 10}, kB);
  EXPECT_EQ(missing(directory, {0, 30}, kB), (HeldRanges{{{0, 10}, at(kA)}, {{20, 10}, at(kA)}}));
}

TEST(ResidencyDirectory, MissingAppendsAndLeavesTheRestAlone) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kA);
  HeldRanges out{{{0, 10}, at(kA)}};
  directory.missing({10, 10}, kB, out);
  EXPECT_EQ(out, (HeldRanges{{{0, 10}, at(kA)}, {{10, 10}, at(kA)}}));
}

TEST(ResidencyDirectory, AddingAHolderBackMerges) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kA);
  directory.add_holder({20, 20}, kB);
  EXPECT_EQ(directory.entries().size(), 3u);
  directory.add_holder({0, 30}, kB);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 40}, at(kA, kB), 1}, {{40, 60}, at(kA), 1}}));
  directory.add_holder({40, 60}, kB);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kA, kB), 1}}));
}

TEST(ResidencyDirectory, ADroppedCopyIsNoLongerHeld) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kA);
  directory.add_holder({0, 100}, kB);
  directory.drop_copy({0, 100}, kA);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kB), 1}}));
  directory.drop_copy({0, 100}, kC);  // holds nothing
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kB), 1}}));
}

TEST(ResidencyDirectory, TheOnlyCopyIsKept) {
  ResidencyDirectory directory(100);
  directory.write({10, 80}, kA);
  directory.add_holder({40, 10}, kHost);
  directory.drop_copy({0, 60}, kA);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 10}, {}, 0},
                                          {{10, 30}, at(kA), 1},
                                          {{40, 10}, at(kHost), 1},
                                          {{50, 40}, at(kA), 1},
                                          {{90, 10}, {}, 0}}));
}

TEST(ResidencyDirectory, ForgottenBytesAreUndefined) {
  ResidencyDirectory directory(100);
  directory.write({10, 80}, kA);
  directory.forget({0, 40});
  EXPECT_EQ(directory.entries(),
            (Entries{{{0, 10}, {}, 1}, {{10, 30}, {}, 2}, {{40, 50}, at(kA), 1}, {{90, 10}, {}, 0}}));
  EXPECT_TRUE(directory.valid({0, 40}, kB)) << "undefined now: nothing to fetch";
}

TEST(ResidencyDirectory, VersionsGoOnAfterForgetting) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kA);
  directory.forget({0, 100});
  directory.write({0, 100}, kB);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kB), 3}}));
}

TEST(ResidencyDirectory, EmptyRangesChangeNothing) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kA);
  const Entries before = directory.entries();
  for (std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{50}, std::uint64_t{100}, std::uint64_t{200}}) {
    directory.write({offset, 0}, kB);
    directory.add_holder({offset, 0}, kB);
    directory.drop_copy({offset, 0}, kA);
    directory.forget({offset, 0});
    EXPECT_TRUE(directory.valid({offset, 0}, kB));
    EXPECT_EQ(missing(directory, {offset, 0}, kB), HeldRanges{});
  }
  EXPECT_EQ(directory.entries(), before);
}

TEST(ResidencyDirectory, RangesAreClamped) {
  ResidencyDirectory directory(100);
  directory.write({50, kWhole}, kA);  // offset + size would overflow
  EXPECT_EQ(directory.entries(), (Entries{{{0, 50}, {}, 0}, {{50, 50}, at(kA), 1}}));
  EXPECT_EQ(missing(directory, {90, 1000}, kB), (HeldRanges{{{90, 10}, at(kA)}}));
  EXPECT_FALSE(directory.valid({99, kWhole}, kB));
  EXPECT_TRUE(directory.valid({100, kWhole}, kB));
  EXPECT_TRUE(directory.valid({kWhole, kWhole}, kB));
  directory.write({100, 1}, kB);
  directory.write({kWhole, kWhole}, kB);
  directory.add_holder({100, 1}, kB);
  directory.drop_copy({100, 1}, kA);
  directory.forget({100, 1});
  EXPECT_EQ(directory.entries(), (Entries{{{0, 50}, {}, 0}, {{50, 50}, at(kA), 1}}));
}

TEST(ResidencyDirectory, EmptyBuffer) {
  ResidencyDirectory directory(0);
  directory.write({0, kWhole}, kA);
  directory.add_holder({0, kWhole}, kB);
  directory.drop_copy({0, kWhole}, kA);
  directory.forget({0, kWhole});
  EXPECT_TRUE(directory.valid({0, kWhole}, kB));
  EXPECT_EQ(missing(directory, {0, kWhole}, kB), HeldRanges{});
  EXPECT_EQ(directory.entries(), Entries{});
}

TEST(ResidencyDirectory, LargestBuffer) {
  ResidencyDirectory directory(kWhole);
  directory.write({0, kWhole}, kA);
  directory.write({kWhole - 1, kWhole}, kB);
  EXPECT_EQ(directory.entries(), (Entries{{{0, kWhole - 1}, at(kA), 1}, {{kWhole - 1, 1}, at(kB), 2}}));
}

TEST(ResidencyDirectory, LastLocation) {
  ResidencyDirectory directory(100);
  directory.write({0, 100}, kLocationMax);
  EXPECT_EQ(missing(directory, {0, 100}, kHost), (HeldRanges{{{0, 100}, at(kLocationMax)}}));
  EXPECT_TRUE(directory.valid({0, 100}, kLocationMax));
  directory.add_holder({0, 100}, kHost);
  directory.drop_copy({0, 100}, kLocationMax);
  EXPECT_EQ(directory.entries(), (Entries{{{0, 100}, at(kHost), 1}}));
}

// Every kernel with a buffer argument goes this way.
TEST(ResidencyDirectory, WholeBufferUseAllocatesNothing) {
  ResidencyDirectory directory(1 << 20);
  HeldRanges out;
  out.reserve(1);
  const std::size_t before = allocations;
  std::size_t fetched = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Location location = static_cast<Location>(i % 5);
    if (!directory.valid({0, kWhole}, location)) {
      directory.missing({0, kWhole}, location, out);
      fetched += out.size();
      out.clear();
    }
    directory.add_holder({0, kWhole}, location);
    if (i % 3 == 0) directory.write({0, kWhole}, location);
    if (i % 100 == 0) directory.drop_copy({0, kWhole}, location);
  }
  const std::size_t after = allocations;
  EXPECT_EQ(after, before);
  EXPECT_GT(fetched, 0u);
  const ResidencyDirectory another(1);
  EXPECT_GT(allocations, after) << "the counter does not count";
}

TEST(ResidencyDirectory, UseOfOnePartAllocatesNothing) {
  ResidencyDirectory directory(100);
  const std::size_t before = allocations;
  for (int i = 0; i < 100; ++i) {
    directory.write({20, 30}, kA);
    directory.add_holder({20, 30}, kB);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(directory.entries().size(), 3u);
}

}  // namespace
}  // namespace remotecl
