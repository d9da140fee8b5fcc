// The memory is exactly as large as it has to be and lies on the heap, where the address sanitizer sees a step too far.
#include "runtime/transport/shm/shared_ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "transport/pattern.h"

namespace remotecl {
namespace {

constexpr std::size_t kRingSize = 256;

struct Ring {
  std::unique_ptr<RingWords> words = std::make_unique<RingWords>();
  std::vector<std::byte> memory = std::vector<std::byte>(kRingSize);
  RingWriter writer{*words, memory};
  RingReader reader{*words, memory};
};

TEST(SharedRing, IsAQueueOfBytes) {
  std::mt19937 random(7);
  Ring ring;
  std::deque<std::byte> model;
  std::size_t unpublished = 0;
  std::uint64_t offset = 0;
  for (int step = 0; step < 20'000; ++step) {
    std::vector<std::byte> bytes(random() % (kRingSize + 50));
    if (random() % 2 == 0) {
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern_at(offset + i);
      const std::size_t count = ring.writer.put(bytes);
      ASSERT_EQ(count, std::min(bytes.size(), kRingSize - model.size()));
      model.insert(model.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
      offset += count;
      unpublished += count;
      ASSERT_EQ(ring.writer.unpublished(), unpublished);
      ASSERT_EQ(ring.writer.has_room(), model.size() < kRingSize);
      if (random() % 2 == 0) {
        ring.writer.publish();
        unpublished = 0;
      }
    } else {
      const std::size_t count = ring.reader.take(bytes);
      ASSERT_EQ(count, std::min(bytes.size(), model.size() - unpublished));
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(bytes[i], model.front());
        model.pop_front();
      }
      ASSERT_EQ(ring.reader.has_data(), model.size() > unpublished);
    }
  }
}

TEST(SharedRing, TwoThreads) {
  constexpr std::uint64_t kTotal = 2'000'000;
  Ring ring;
  std::thread writer([&ring] {
    std::mt19937 random(1);
    std::vector<std::byte> bytes;
    for (std::uint64_t offset = 0; offset < kTotal;) {
      bytes.resize(std::min<std::uint64_t>(1 + random() % 300, kTotal - offset));
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern_at(offset + i);
      offset += ring.writer.put(bytes);
      ring.writer.publish();
      if (!ring.writer.has_room()) std::this_thread::yield();
    }
  });
  std::mt19937 random(2);
  std::uint64_t offset = 0, wrong = 0;
  while (offset < kTotal) {
    std::vector<std::byte> bytes(1 + random() % 300);
    const std::size_t count = ring.reader.take(bytes);
    for (std::size_t i = 0; i < count; ++i) wrong += bytes[i] != pattern_at(offset + i);
    offset += count;
    if (count == 0) std::this_thread::yield();
  }
  writer.join();
  EXPECT_EQ(wrong, 0u);
}

// Where the ring stands when the peer writes nonsense: 100 bytes went through, 60 more lie there.
void advance(Ring& ring) {
  std::vector<std::byte> bytes(100);
  ring.writer.put(bytes);
  ring.writer.publish();
  ring.reader.take(bytes);
  ring.writer.put(Bytes(bytes).first(60));
  ring.writer.publish();
}

constexpr std::uint64_t kImpossible[] = {
    0, 99, 100 + kRingSize + 1, 1u << 31, std::uint64_t{1} << 63, ~std::uint64_t{0}};

TEST(SharedRing, ReaderBelievesNoImpossibleIndex) {
  for (const std::uint64_t index : kImpossible) {
    Ring ring;
    advance(ring);
    ring.words->written = index;
    std::vector<std::byte> bytes(10'000);
    EXPECT_FALSE(ring.reader.has_data()) << index;
    EXPECT_FALSE(ring.reader.sound()) << index;
    EXPECT_EQ(ring.reader.take(bytes), 0u) << index;
    ring.words->written = 160;
    EXPECT_FALSE(ring.reader.has_data()) << "once broken, always broken";
  }
}

TEST(SharedRing, WriterBelievesNoImpossibleIndex) {
  for (const std::uint64_t index :
       {std::uint64_t{161}, kImpossible[2], kImpossible[3], kImpossible[4], kImpossible[5]}) {
    Ring ring;
    advance(ring);
    ring.words->taken = index;
    const std::vector<std::byte> bytes(10'000);
    EXPECT_FALSE(ring.writer.has_room()) << index;
    EXPECT_FALSE(ring.writer.sound()) << index;
    EXPECT_EQ(ring.writer.put(bytes), 0u) << index;
  }
}

TEST(SharedRing, WriterBelievesNoIndexThatGoesBack) {
  Ring ring;
  advance(ring);
  ASSERT_TRUE(ring.writer.has_room());  // has seen 100
  ring.words->taken = 99;
  EXPECT_FALSE(ring.writer.has_room());
  EXPECT_FALSE(ring.writer.sound());
}

TEST(SharedRing, PossibleLiesStayInTheMemory) {
  Ring ring;
  advance(ring);
  ring.words->written = 100 + kRingSize;  // more than was written, not more than fits
  std::vector<std::byte> bytes(10'000);
  EXPECT_EQ(ring.reader.take(bytes), kRingSize);
  ring.words->taken = 160;  // not read yet
  EXPECT_EQ(ring.writer.put(bytes), kRingSize);
}

// The peer changes its index all the time while we work: whatever happens, it happens within the memory.
TEST(SharedRing, SurvivesAnIndexThatChangesAllTheTime) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Ring ring;
    std::mt19937_64 random(seed);
    std::vector<std::byte> bytes(1'000);
    std::uint64_t near = 0;
    while (ring.reader.sound()) {
      near += random() % 200;
      ring.words->written = random() % 20 == 0 ? random() : near;
      ring.reader.take(MutableBytes(bytes).first(random() % bytes.size()));
    }
    near = 0;
    for (int i = 0; i < 1000 && ring.writer.sound(); ++i) {
      near += random() % 200;
      ring.words->taken = random() % 20 == 0 ? random() : near;
      ring.writer.put(Bytes(bytes).first(random() % bytes.size()));
      ring.writer.publish();
    }
    EXPECT_FALSE(ring.writer.sound());
  }
}

}  // namespace
}  // namespace remotecl
