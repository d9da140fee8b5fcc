#include "runtime/memory/transfer_source.h"

#include <gtest/gtest.h>

#include <vector>

namespace remotecl {
namespace {

constexpr std::uint64_t kLarge = 64u << 20;

TransferSource at(Location location, Route route, unsigned busy = 0, bool arriving = false, bool held = false) {
  return {location, route, busy, arriving, held};
}
Location chosen(const std::vector<TransferSource>& sources, std::uint64_t size = kLarge) {
  return sources[cheapest_source(sources, size)].location;
}

TEST(TransferSourceTest, PrefersTheShortestRoad) {
  const TransferSource here = at(1, Route::kSameServer), peer = at(2, Route::kPeer), host = at(kHost, Route::kHost),
                       client = at(3, Route::kClient);
  EXPECT_EQ(chosen({client, host, peer, here}), 1u);
  EXPECT_EQ(chosen({client, host, peer}), 2u);
  EXPECT_EQ(chosen({client, host}), kHost);
  EXPECT_EQ(chosen({client}), 3u);
}

TEST(TransferSourceTest, TakesLittleFromTheHostWhateverElseThereIs) {
  EXPECT_EQ(chosen({at(1, Route::kSameServer), at(2, Route::kPeer), at(kHost, Route::kHost)}, 64), kHost);
}

// One source for many receivers: a chain.
TEST(TransferSourceTest, PrefersTheOneThatHasJustReceivedToTheOneThatSends) {
  EXPECT_EQ(chosen({at(1, Route::kPeer, 1), at(2, Route::kPeer, 0, true)}), 2u);
  EXPECT_EQ(chosen({at(1, Route::kPeer, 1), at(2, Route::kPeer, 1, true), at(3, Route::kPeer, 0, true)}), 3u);
  EXPECT_EQ(chosen({at(1, Route::kPeer, 0), at(2, Route::kPeer, 0, true)}), 1u);
}

TEST(TransferSourceTest, WhatWaitsForCommandsIsTheLastChoice) {
  EXPECT_EQ(chosen({at(1, Route::kSameServer, 0, true, true), at(2, Route::kClient)}), 2u);
  EXPECT_EQ(chosen({at(1, Route::kPeer, 0, true, true)}), 1u);
}

}  // namespace
}  // namespace remotecl
