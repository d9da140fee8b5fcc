#include "runtime/client/objects/image_parts.h"

#include <gtest/gtest.h>

#include <random>

namespace remotecl {
namespace {

ImageShape shape_of(cl_mem_object_type type, std::mt19937& random) {
  const auto pick = [&random] { return 1 + random() % 40; };
  ImageShape shape{type, 4, pick(), 0, 0, 0};
  if (type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D) {
    shape.height = pick();
  }
  if (type == CL_MEM_OBJECT_IMAGE3D) shape.depth = pick();
  if (shape.is_array()) shape.array_size = pick();
  return shape;
}

class ImagePartsTest : public ::testing::TestWithParam<cl_mem_object_type> {};

TEST_P(ImagePartsTest, PartsFollowEachOtherAndLieInTheImage) {
  std::mt19937 random{GetParam()};
  for (int round = 0; round < 500; ++round) {
    const ImageShape shape = shape_of(GetParam(), random);
    const std::uint64_t size_max = 1 + random() % 8000, row = shape.width * shape.pixel;
    const std::vector<ByteRange> parts = parts_of(shape, size_max);
    std::uint64_t end = 0;
    for (const ByteRange& range : parts) {
      ASSERT_EQ(range.offset, end);
      end += range.size;
      ASSERT_GT(range.size, 0u);
      ASSERT_LE(range.size, std::max(size_max, row));
      ASSERT_LE(range.size, parts.front().size);
      const ImagePart part = part_of(shape, range);
      ASSERT_TRUE(shape.contains(part.origin, part.region));
      ASSERT_EQ(shape.packed_size(part.region), range.size);
      // Its first pixel is at the beginning of the range.
      const Extent at = shape.rows(part.origin), rows = shape.rows(shape.whole());
      ASSERT_EQ((at[2] * rows[1] + (shape.type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 0 : at[1])) * rows[0], range.offset);
    }
    ASSERT_EQ(end, *shape.packed_size());
  }
}

TEST_P(ImagePartsTest, AllBytesAreTheWholeImage) {
  std::mt19937 random{GetParam()};
  const ImageShape shape = shape_of(GetParam(), random);
  const ImagePart part = part_of(shape, {0, *shape.packed_size()});
  EXPECT_EQ(part.origin, Extent{});
  EXPECT_EQ(part.region, shape.whole());
  EXPECT_EQ(parts_of(shape, 1u << 30).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Types, ImagePartsTest,
                         ::testing::Values(CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE3D,
                                           CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D_ARRAY));

}  // namespace
}  // namespace remotecl
