// Copies of rectangles and pixels from and to parts of buffers, on which PoCL ends its process.
#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kPartBegin = 1024, kPartSize = 1024;
using Ints = std::vector<int>;

class PartCopiesTest : public RemoteTest {
 protected:
  Owned<cl_mem> first_ = make_buffer(context_, numbers(1024));
  Owned<cl_mem> second_ = make_buffer(context_, Ints(1024, -1));
  Owned<cl_mem> first_part_ = make_sub_buffer(first_, kPartBegin, kPartSize);
  Owned<cl_mem> second_part_ = make_sub_buffer(second_, kPartBegin, kPartSize);

  // Two rows of 4 ints, 8 ints apart, from (4, 1) to the beginning.
  void copy(cl_mem from, cl_mem to) {
    const std::size_t source[3] = {16, 1, 0}, destination[3] = {0, 0, 0}, region[3] = {16, 2, 1};
    check(clEnqueueCopyBufferRect(queue_, from, to, source, destination, region, 32, 0, 32, 0, 0, nullptr, nullptr));
    check(clFinish(queue_));
  }
  // What that copies from a buffer that begins with `first`.
  static Ints copied(int first, int gap) {
    Ints values;
    for (int row = 0; row < 2; ++row) {
      for (int i = 0; i < 4; ++i) values.push_back(first + 12 + 8 * row + i);
      for (int i = 0; row == 0 && i < 4; ++i) values.push_back(gap);
    }
    return values;
  }
};

TEST_F(PartCopiesTest, RectanglesOfParts) {
  copy(first_part_, second_);
  EXPECT_EQ(read<int>(queue_, second_, 12), copied(256, -1));
  copy(first_, second_part_);
  EXPECT_EQ(read<int>(queue_, second_, 12, kPartBegin), copied(0, -1));
  EXPECT_EQ(read<int>(queue_, second_part_, 12), copied(0, -1));
  copy(first_part_, second_part_);
  EXPECT_EQ(read<int>(queue_, second_part_, 12), copied(256, -1));
}

TEST_F(PartCopiesTest, RectanglesOfOneBuffersParts) {
  const auto third = make_sub_buffer(second_, 2 * kPartBegin, kPartSize);
  copy(first_part_, second_part_);
  const std::size_t origin[3] = {0, 0, 0}, region[3] = {16, 2, 1};
  check(
      clEnqueueCopyBufferRect(queue_, second_part_, third, origin, origin, region, 32, 0, 32, 0, 0, nullptr, nullptr));
  EXPECT_EQ(read<int>(queue_, third, 12), copied(256, -1));
}

TEST_F(PartCopiesTest, PixelsOfParts) {
  if (value<cl_bool>(clGetDeviceInfo, device(), cl_uint{CL_DEVICE_IMAGE_SUPPORT}) == CL_FALSE) {
    GTEST_SKIP() << "the device has no images";
  }
  const cl_image_format format{CL_RGBA, CL_SIGNED_INT32};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = description.image_height = 4;
  cl_int error = CL_SUCCESS;
  const Owned<cl_mem> image(clCreateImage(context_, CL_MEM_READ_WRITE, &format, &description, nullptr, &error));
  check(error);
  const std::size_t origin[3] = {0, 0, 0}, region[3] = {2, 1, 1};
  check(clEnqueueCopyBufferToImage(queue_, first_part_, image, 16, origin, region, 0, nullptr, nullptr));
  check(clEnqueueCopyImageToBuffer(queue_, image, second_part_, origin, region, 32, 0, nullptr, nullptr));
  EXPECT_EQ(read<int>(queue_, second_, 8, kPartBegin + 32), (numbers(8, 256 + 4)));
}

}  // namespace
}  // namespace remotecl::testing
