#include "runtime/memory/transfer_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace remotecl {
namespace {

constexpr std::uint64_t kLarge = 64u << 20;

TransferSource holder(Location location, Route route, unsigned busy = 0, unsigned hops = 0, bool held = false) {
  return {location, route, busy, hops, held};
}
Location chosen(const std::vector<TransferSource>& sources, std::uint64_t size = kLarge) {
  return sources[cheapest_source(sources, size)].location;
}

TEST(TransferSourceTest, PrefersTheShortestRoute) {
  const TransferSource here = holder(1, Route::kSameServer), peer = holder(2, Route::kPeer),
                       host = holder(kHost, Route::kHost), client = holder(3, Route::kClient);
  EXPECT_EQ(chosen({client, host, peer, here}), 1u);
  EXPECT_EQ(chosen({client, host, peer}), 2u);
  EXPECT_EQ(chosen({client, host}), kHost);
  EXPECT_EQ(chosen({client}), 3u);
}

TEST(TransferSourceTest, TakesLittleFromTheHostWhateverElseThereIs) {
  EXPECT_EQ(chosen({holder(1, Route::kSameServer), holder(2, Route::kPeer), holder(kHost, Route::kHost)}, 64), kHost);
}

// One source for many receivers: a chain.
TEST(TransferSourceTest, PrefersTheOneThatHasJustReceivedToTheOneThatSends) {
  EXPECT_EQ(chosen({holder(1, Route::kPeer, 1), holder(2, Route::kPeer, 0, 1)}), 2u);
  EXPECT_EQ(chosen({holder(1, Route::kPeer, 1), holder(2, Route::kPeer, 1, 1), holder(3, Route::kPeer, 0, 1)}), 3u);
  EXPECT_EQ(chosen({holder(1, Route::kPeer, 0), holder(2, Route::kPeer, 0, 1)}), 1u);
}

// Gives `count` servers the bytes, one after the other and all before the first has ended, from one holder.
// Returns how often each has sent, and the longest chain.
struct Tree {
  unsigned sends_max = 0, hops_max = 0;
};
Tree broadcast(std::size_t count, Route first, std::uint64_t size) {
  std::vector<TransferSource> holders{holder(first == Route::kHost ? kHost : 1, first)};
  Tree tree;
  while (holders.size() <= count) {
    TransferSource& source = holders[cheapest_source(holders, size)];
    ++source.busy;
    tree.sends_max = std::max(tree.sends_max, ++source.served);
    tree.hops_max = std::max(tree.hops_max, source.hops + 1);
    holders.push_back(holder(static_cast<Location>(holders.size() + 1), Route::kPeer, 0, source.hops + 1));
  }
  return tree;
}

TEST(TransferSourceTest, ATransferToManyIsATree) {
  for (const Route first : {Route::kPeer, Route::kHost}) {
    for (const std::uint64_t size : {std::uint64_t{1} << 20, std::uint64_t{16} << 20, std::uint64_t{256} << 20}) {
      for (const std::size_t count : {std::size_t{16}, std::size_t{256}, std::size_t{1024}}) {
        const Tree tree = broadcast(count, first, size);
        EXPECT_LE(tree.sends_max, 6u) << count << " receivers of " << size << " bytes";
        EXPECT_LE(tree.hops_max, size >= 256u << 20 ? 140u : 22u) << count << " receivers of " << size << " bytes";
      }
    }
  }
}

TEST(TransferSourceTest, SmallDataToManyAreATreeToo) {
  const Tree tree = broadcast(256, Route::kPeer, 64);
  EXPECT_LE(tree.sends_max, 24u);
  EXPECT_LE(tree.hops_max, 6u);
}

// Transfers that have ended leave many holders which cost the same.
TEST(TransferSourceTest, OfEqualsTakesTheOneThatHasServedLess) {
  std::vector<TransferSource> holders{holder(1, Route::kPeer), holder(2, Route::kPeer), holder(3, Route::kPeer)};
  for (int i = 0; i < 6; ++i) ++holders[cheapest_source(holders, kLarge)].served;
  for (const TransferSource& holder : holders) EXPECT_EQ(holder.served, 2u);
}

TEST(TransferSourceTest, AFewReceiversOfMuchAreAChain) { EXPECT_EQ(broadcast(8, Route::kPeer, kLarge).sends_max, 1u); }

TEST(TransferSourceTest, WhatWaitsForCommandsIsTheLastChoice) {
  EXPECT_EQ(chosen({holder(1, Route::kSameServer, 0, 1, true), holder(2, Route::kClient)}), 2u);
  EXPECT_EQ(chosen({holder(1, Route::kPeer, 0, 1, true)}), 1u);
}

}  // namespace
}  // namespace remotecl
