// Where an image's pixels lie in the application's memory.
#include "runtime/client/objects/image_layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace remotecl {
namespace {

constexpr cl_image_format kFormat{CL_RGBA, CL_UNORM_INT8};

cl_image_desc description(cl_mem_object_type type, std::size_t row_pitch = 0, std::size_t slice_pitch = 0) {
  cl_image_desc desc{};
  desc.image_type = type;
  desc.image_width = 5;
  desc.image_height = 4;
  desc.image_depth = 3;
  desc.image_array_size = 2;
  desc.image_row_pitch = row_pitch;
  desc.image_slice_pitch = slice_pitch;
  return desc;
}

TEST(ImageLayoutTest, SizesThatTheTypeDoesNotHaveAreZero) {
  const ImageLayout plain(kFormat, description(CL_MEM_OBJECT_IMAGE1D));
  EXPECT_EQ(plain.shape.height, 0u);
  EXPECT_EQ(plain.shape.depth, 0u);
  EXPECT_EQ(plain.shape.array_size, 0u);
  const ImageLayout array(kFormat, description(CL_MEM_OBJECT_IMAGE2D_ARRAY));
  EXPECT_EQ(array.shape.height, 4u);
  EXPECT_EQ(array.shape.depth, 0u);
  EXPECT_EQ(array.shape.array_size, 2u);
}

TEST(ImageLayoutTest, APitchOfZeroIsPacked) {
  const ImageLayout packed(kFormat, description(CL_MEM_OBJECT_IMAGE3D));
  EXPECT_EQ(packed.pitches, (Pitches{20, 80}));
  EXPECT_TRUE(packed.is_packed());
  EXPECT_EQ(packed.size(), 240u);
  const ImageLayout rows(kFormat, description(CL_MEM_OBJECT_IMAGE3D, 32));
  EXPECT_EQ(rows.pitches, (Pitches{32, 128})) << "a slice of rows with their pitch";
  EXPECT_FALSE(rows.is_packed());
  EXPECT_EQ(rows.size(), 2 * 128 + 3 * 32 + 20u) << "nothing behind the last pixel";
}

TEST(ImageLayoutTest, TheSlicePitchOfA1DArrayIsFromLayerToLayer) {
  const ImageLayout array(kFormat, description(CL_MEM_OBJECT_IMAGE1D_ARRAY, 24, 48));
  EXPECT_EQ(array.pitches, (Pitches{24, 48}));
  EXPECT_EQ(array.at({1, 1, 0}, array.pitches).begin(), 48u + 4);
  EXPECT_EQ(array.size(), 48u + 20);
  EXPECT_EQ(ImageLayout(kFormat, description(CL_MEM_OBJECT_IMAGE1D_ARRAY)).pitches, (Pitches{20, 20}));
}

TEST(ImageLayoutTest, AnImageWithoutSlicesTakesNoSlicePitch) {
  const ImageLayout plain(kFormat, description(CL_MEM_OBJECT_IMAGE2D, 32, 4096));
  EXPECT_EQ(plain.pitches, (Pitches{32, 128}));
}

TEST(ImageLayoutTest, FindsAPixelInMemoryWithPitches) {
  const ImageLayout image(kFormat, description(CL_MEM_OBJECT_IMAGE3D, 32, 256));
  EXPECT_EQ(image.at({3, 2, 1}, image.pitches).begin(), 256u + 64 + 12);
  EXPECT_EQ(image.pitches_for({2, 2, 2}, 0, 0), (Pitches{8, 16})) << "packed means the region, not the image";
}

TEST(CopyRowsTest, MovesARegionBetweenPitches) {
  const ImageLayout image(kFormat, description(CL_MEM_OBJECT_IMAGE2D, 24));
  std::vector<std::byte> from(image.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i);
  const Extent region{2, 3, 1};
  std::vector<std::byte> to(2 * 4 * 3);
  copy_rows(image.at({1, 1, 0}, image.pitches), from.data(), image.at({}, image.pitches_for(region, 0, 0)), to.data(),
            image.bytes(region));
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t byte = 0; byte < 8; ++byte) {
      EXPECT_EQ(to[row * 8 + byte], from[(row + 1) * 24 + 4 + byte]) << row << ", " << byte;
    }
  }
}

}  // namespace
}  // namespace remotecl
