// How large pixels are, and how they are packed.
#include "runtime/protocol/image_shape.h"

#include <gtest/gtest.h>

namespace remotecl {
namespace {

TEST(PixelSizeTest, CountsChannelsAndTheirBytes) {
  EXPECT_EQ(pixel_size(CL_R, CL_UNSIGNED_INT8), 1u);
  EXPECT_EQ(pixel_size(CL_RG, CL_HALF_FLOAT), 4u);
  EXPECT_EQ(pixel_size(CL_RGBA, CL_FLOAT), 16u);
  EXPECT_EQ(pixel_size(CL_BGRA, CL_UNORM_INT8), 4u);
  EXPECT_EQ(pixel_size(CL_DEPTH, CL_FLOAT), 4u);
  EXPECT_EQ(pixel_size(CL_RGB, CL_UNORM_SHORT_565), 2u);
  EXPECT_EQ(pixel_size(CL_sRGBA, CL_UNORM_INT8), 4u);
}

TEST(PixelSizeTest, IsZeroForWhatOpenclDoesNotHave) {
  EXPECT_EQ(pixel_size(CL_RGB, CL_FLOAT), 0u);
  EXPECT_EQ(pixel_size(CL_BGRA, CL_SNORM_INT16), 8u);  // NVIDIA's driver has it
  EXPECT_EQ(pixel_size(CL_BGRA, CL_FLOAT), 0u);
  EXPECT_EQ(pixel_size(CL_INTENSITY, CL_SIGNED_INT8), 0u);
  EXPECT_EQ(pixel_size(CL_DEPTH, CL_UNORM_INT8), 0u);
  EXPECT_EQ(pixel_size(CL_sRGBA, CL_FLOAT), 0u);
  EXPECT_EQ(pixel_size(0, CL_FLOAT), 0u);
  EXPECT_EQ(pixel_size(CL_RGBA, 0), 0u);
}

TEST(ImageShapeTest, LayersOfAnArrayAreTheLastAxisThatItHas) {
  EXPECT_EQ((ImageShape{CL_MEM_OBJECT_IMAGE1D_ARRAY, 4, 7, 0, 0, 3}.whole()), (Extent{7, 3, 1}));
  EXPECT_EQ((ImageShape{CL_MEM_OBJECT_IMAGE2D_ARRAY, 4, 7, 5, 0, 3}.whole()), (Extent{7, 5, 3}));
  EXPECT_EQ((ImageShape{CL_MEM_OBJECT_IMAGE3D, 4, 7, 5, 2, 0}.whole()), (Extent{7, 5, 2}));
  EXPECT_EQ((ImageShape{CL_MEM_OBJECT_IMAGE1D_BUFFER, 4, 7, 0, 0, 0}.whole()), (Extent{7, 1, 1}));
}

TEST(ImageShapeTest, ALayerOfA1DArrayIsASlice) {
  const ImageShape shape{CL_MEM_OBJECT_IMAGE1D_ARRAY, 4, 7, 0, 0, 3};
  EXPECT_EQ(shape.rows({5, 2, 1}), (Extent{20, 1, 2}));
  const ImageShape plain{CL_MEM_OBJECT_IMAGE2D, 4, 7, 6, 0, 0};
  EXPECT_EQ(plain.rows({5, 2, 1}), (Extent{20, 2, 1}));
}

TEST(ImageShapeTest, ContainsNothingEmptyAndNothingBeyondItsEdge) {
  const ImageShape shape{CL_MEM_OBJECT_IMAGE2D, 4, 8, 4, 0, 0};
  EXPECT_TRUE(shape.contains({0, 0, 0}, {8, 4, 1}));
  EXPECT_TRUE(shape.contains({7, 3, 0}, {1, 1, 1}));
  EXPECT_FALSE(shape.contains({0, 0, 0}, {8, 4, 0}));
  EXPECT_FALSE(shape.contains({1, 0, 0}, {8, 4, 1}));
  EXPECT_FALSE(shape.contains({0, 0, 1}, {8, 4, 1}));
  EXPECT_FALSE(shape.contains({0, 0, 0}, {8, 4, 2}));
  EXPECT_FALSE(shape.contains({~std::uint64_t{0}, 0, 0}, {2, 1, 1})) << "the sum overflows";
}

TEST(ImageShapeTest, HasNoSizeThatDoesNotFitOrOfNothing) {
  EXPECT_EQ((ImageShape{CL_MEM_OBJECT_IMAGE3D, 16, 8, 4, 2, 0}.packed_size()), 16u * 8 * 4 * 2);
  const std::uint64_t huge = std::uint64_t{1} << 40;
  EXPECT_FALSE((ImageShape{CL_MEM_OBJECT_IMAGE2D, 16, huge, huge, 0, 0}.packed_size()));
  EXPECT_FALSE((ImageShape{CL_MEM_OBJECT_IMAGE2D, 16, 8, 0, 0, 0}.packed_size()));
  EXPECT_FALSE((ImageShape{CL_MEM_OBJECT_IMAGE2D, 0, 8, 8, 0, 0}.packed_size())) << "no such format";
  EXPECT_FALSE((ImageShape{CL_MEM_OBJECT_BUFFER, 4, 8, 8, 0, 0}.packed_size()));
}

}  // namespace
}  // namespace remotecl
