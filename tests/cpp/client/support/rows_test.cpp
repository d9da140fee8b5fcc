#include "runtime/client/support/rows.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace remotecl {
namespace {

class RowsTest : public ::testing::TestWithParam<unsigned> {
 protected:
  std::uint64_t pick(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random_);
  }
  Rows pick_rows() {
    const Extent extent{pick(1, 70), pick(1, 12), pick(1, 5)};
    const std::uint64_t row_pitch = extent[0] + pick(0, 1) * pick(0, 9);
    return {extent, row_pitch, extent[1] * row_pitch + pick(0, 1) * pick(0, 50)};
  }
  std::vector<std::byte> noise(std::uint64_t size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
    return bytes;
  }
  // Calls part(offset, size) for parts that follow each other.
  template <class Part>
  void in_parts(std::uint64_t size, Part&& part) {
    for (std::uint64_t offset = 0; offset < size;) {
      const std::uint64_t count = std::min(pick(1, 1 + size / 3), size - offset);
      part(offset, count);
      offset += count;
    }
  }

  std::mt19937 random_{GetParam()};
};

// Byte by byte.
std::vector<std::byte> packed_by_model(const Rows& rows, const std::vector<std::byte>& memory) {
  std::vector<std::byte> packed;
  for (std::uint64_t z = 0; z < rows.extent[2]; ++z) {
    for (std::uint64_t y = 0; y < rows.extent[1]; ++y) {
      for (std::uint64_t x = 0; x < rows.extent[0]; ++x) {
        packed.push_back(memory[z * rows.slice_pitch + y * rows.row_pitch + x]);
      }
    }
  }
  return packed;
}

TEST_P(RowsTest, PartsOfAnySizePackAllBytes) {
  for (int round = 0; round < 50; ++round) {
    const Rows rows = pick_rows();
    const std::vector<std::byte> memory = noise(rows.span());
    std::vector<std::byte> packed(rows.size());
    in_parts(rows.size(), [&](std::uint64_t offset, std::uint64_t count) {
      rows.pack(memory.data(), offset, MutableBytes(packed).subspan(offset, count));
    });
    ASSERT_EQ(packed, packed_by_model(rows, memory));
    ASSERT_TRUE(!rows.is_packed() || packed == memory);
  }
}

TEST_P(RowsTest, PartsOfAnySizeUnpackAllBytesAndLeaveTheGaps) {
  for (int round = 0; round < 50; ++round) {
    const Rows rows = pick_rows();
    const std::vector<std::byte> packed = noise(rows.size()), before = noise(rows.span());
    std::vector<std::byte> memory = before;
    in_parts(rows.size(), [&](std::uint64_t offset, std::uint64_t count) {
      rows.unpack(Bytes(packed).subspan(offset, count), memory.data(), offset);
    });
    ASSERT_EQ(packed_by_model(rows, memory), packed);
    std::vector<std::byte> restored = memory;
    rows.unpack(packed_by_model(rows, before), restored.data(), 0);
    ASSERT_EQ(restored, before);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RowsTest, ::testing::Range(0u, 8u));

}  // namespace
}  // namespace remotecl
