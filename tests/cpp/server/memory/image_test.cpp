// Images from the wire: what cannot be costs nothing and is an error of the command that names it.
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

class ServerImageTest : public CommandTest {
 protected:
  static constexpr Extent kZero{0, 0, 0};

  ObjectId make_image(std::uint64_t width, std::uint64_t height, std::uint32_t channel_type = CL_UNSIGNED_INT8,
                      ObjectId buffer = 0, cl_mem_object_type type = CL_MEM_OBJECT_IMAGE2D) {
    const ObjectId image = client_.id();
    client_.add(CreateImage{image, buffer, CL_MEM_READ_WRITE, CL_RGBA, channel_type, type, width, height, 0, 0, 0});
    return image;
  }
  std::int32_t reading(ObjectId image, const Extent& origin, const Extent& region) {
    const EventId event = client_.id();
    client_.send(EnqueueReadImage{queue_, event, image, origin, region, client_.id(), {}});
    return failure_of(event);
  }
};

TEST_F(ServerImageTest, SmallPixelsTravelWithTheirCommands) {
  const ObjectId image = make_image(4, 2);
  std::vector<std::byte> pixels(4 * 2 * 4);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::byte>(i);
  client_.add(EnqueueWriteImage{queue_, 0, image, kZero, {4, 2, 1}, 0, pixels, {}});
  const TransferId transfer = client_.id();
  client_.send(EnqueueReadImage{queue_, client_.id(), image, {1, 1, 0}, {2, 1, 1}, transfer, {}});
  const auto data = client_.wait<ReadData>([&](const ReadData& read) { return read.transfer == transfer; });
  EXPECT_EQ(std::vector<std::byte>(data->data.begin(), data->data.end()),
            std::vector<std::byte>(pixels.begin() + 20, pixels.begin() + 28));
}

TEST_F(ServerImageTest, ImagesThatCannotBeAreNotThere) {
  const std::uint64_t huge = std::uint64_t{1} << 40;
  EXPECT_EQ(reading(777, kZero, {1, 1, 1}), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(reading(make_image(huge, huge), kZero, {1, 1, 1}), CL_INVALID_MEM_OBJECT) << "its size overflows";
  EXPECT_EQ(reading(make_image(0, 4), kZero, {1, 1, 1}), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(reading(make_image(4, 4, 0x7777), kZero, {1, 1, 1}), CL_INVALID_MEM_OBJECT) << "no such format";
  const auto type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  EXPECT_EQ(reading(make_image(17, 0, CL_UNSIGNED_INT8, buffer_, type), kZero, {1, 1, 1}), CL_INVALID_MEM_OBJECT)
      << "longer than its buffer";
  EXPECT_EQ(reading(make_image(4, 0, CL_UNSIGNED_INT8, 777, type), kZero, {1, 1, 1}), CL_INVALID_MEM_OBJECT);
  client_.finish(queue_);
}

TEST_F(ServerImageTest, RegionsOutsideTheImageAreRefused) {
  const ObjectId image = make_image(4, 2);
  EXPECT_EQ(reading(image, kZero, {5, 1, 1}), CL_INVALID_VALUE);
  EXPECT_EQ(reading(image, {0, 0, 1}, {1, 1, 1}), CL_INVALID_VALUE);
  EXPECT_EQ(reading(image, {~std::uint64_t{0}, 0, 0}, {2, 1, 1}), CL_INVALID_VALUE);
  EXPECT_EQ(reading(image, kZero, {4, 0, 1}), CL_INVALID_VALUE);
  client_.add(EnqueueCopyImageBuffer{queue_, 1000, image, buffer_, 1, kZero, {4, 2, 1}, 33, {}});
  client_.flush();
  EXPECT_EQ(failure_of(1000), CL_INVALID_VALUE) << "one byte over the buffer's end";
  client_.finish(queue_);
}

TEST_F(ServerImageTest, PixelsOfAnotherFormatAreNotCopied) {
  const ObjectId narrow = make_image(4, 2), wide = make_image(4, 2, CL_FLOAT);
  client_.add(EnqueueCopyImage{queue_, 1000, narrow, wide, kZero, kZero, {4, 2, 1}, {}});
  client_.flush();
  EXPECT_EQ(failure_of(1000), CL_IMAGE_FORMAT_MISMATCH);
}

TEST_F(ServerImageTest, AnIdIsUsedOnce) {
  const ObjectId image = make_image(4, 2);
  client_.send(CreateImage{image, 0, CL_MEM_READ_WRITE, CL_RGBA, CL_FLOAT, CL_MEM_OBJECT_IMAGE2D, 4, 4, 0, 0, 0});
  expect_session_error(client_, "image id");
}

}  // namespace
}  // namespace remotecl::testing
