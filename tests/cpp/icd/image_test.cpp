// Images have the same pixels, whatever route they take.
#include <cstring>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

constexpr cl_image_format kFormat{CL_RGBA, CL_UNSIGNED_INT8};
constexpr std::size_t kPixel = 4;

constexpr char kImageSource[] = R"(
kernel void brighten(read_only image2d_t from, write_only image2d_t to, sampler_t sampler, uint add) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(to, at, read_imageui(from, sampler, at) + (uint4)(add));
}
kernel void flatten(read_only image1d_buffer_t from, global uint4* to) {
  to[get_global_id(0)] = read_imageui(from, (int)get_global_id(0));
}
)";

struct Type {
  const char* name;
  cl_mem_object_type type;
  std::size_t width, height, depth, layers;

  std::array<std::size_t, 3> whole() const {
    switch (type) {
      case CL_MEM_OBJECT_IMAGE1D_ARRAY:
        return {width, layers, 1};
      case CL_MEM_OBJECT_IMAGE2D_ARRAY:
        return {width, height, layers};
      case CL_MEM_OBJECT_IMAGE3D:
        return {width, height, depth};
      case CL_MEM_OBJECT_IMAGE2D:
        return {width, height, 1};
      default:
        return {width, 1, 1};
    }
  }
  std::size_t pixels() const { return whole()[0] * whole()[1] * whole()[2]; }
  // Where each row begins in memory with these pitches. A layer of a 1D array is a slice.
  std::vector<std::size_t> rows(std::size_t row_pitch, std::size_t slice_pitch) const {
    const auto size = whole();
    if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY) row_pitch = slice_pitch;
    std::vector<std::size_t> begins;
    for (std::size_t z = 0; z < size[2]; ++z) {
      for (std::size_t y = 0; y < size[1]; ++y) begins.push_back(z * slice_pitch + y * row_pitch);
    }
    return begins;
  }
  bool has_slices() const { return type != CL_MEM_OBJECT_IMAGE1D && type != CL_MEM_OBJECT_IMAGE2D; }
  cl_image_desc description() const {
    cl_image_desc desc{};
    desc.image_type = type;
    desc.image_width = width;
    desc.image_height = height;
    desc.image_depth = depth;
    desc.image_array_size = layers;
    return desc;
  }
};
void PrintTo(const Type& type, std::ostream* out) { *out << type.name; }

// The large ones travel on the bulk connection.
constexpr Type kTypes[] = {
    {"Image1D", CL_MEM_OBJECT_IMAGE1D, 37, 0, 0, 0},
    {"Image1DArray", CL_MEM_OBJECT_IMAGE1D_ARRAY, 37, 0, 0, 5},
    {"Image2D", CL_MEM_OBJECT_IMAGE2D, 37, 11, 0, 0},
    {"Image2DLarge", CL_MEM_OBJECT_IMAGE2D, 513, 301, 0, 0},
    {"Image2DArray", CL_MEM_OBJECT_IMAGE2D_ARRAY, 37, 11, 0, 5},
    {"Image3D", CL_MEM_OBJECT_IMAGE3D, 37, 11, 4, 0},
    {"Image3DLarge", CL_MEM_OBJECT_IMAGE3D, 65, 63, 33, 0},
};

using Pixels = std::vector<unsigned char>;

Pixels numbers_of(std::size_t size, int first = 0) {
  Pixels bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(first + i * 7 + i / 251);
  return bytes;
}

Owned<cl_mem> make_image(cl_context context, const cl_image_desc& desc, cl_mem_flags flags = CL_MEM_READ_WRITE,
                         void* host = nullptr) {
  cl_int error = CL_SUCCESS;
  Owned<cl_mem> image(clCreateImage(context, flags, &kFormat, &desc, host, &error));
  check(error);
  return image;
}

Pixels read_image(cl_command_queue queue, cl_mem image, const Type& type) {
  const std::size_t origin[3] = {};
  Pixels pixels(type.pixels() * kPixel);
  check(
      clEnqueueReadImage(queue, image, CL_TRUE, origin, type.whole().data(), 0, 0, pixels.data(), 0, nullptr, nullptr));
  return pixels;
}

class ImageTest : public RemoteTest {
 protected:
  static constexpr std::size_t kOrigin[3] = {};

  Owned<cl_kernel> image_kernel(const char* name) {
    if (images_ == nullptr) images_ = build(context_, kImageSource);
    return make_kernel(images_, name);
  }
  Owned<cl_kernel> brighten(cl_mem from, cl_mem to, unsigned add) {
    if (sampler_ == nullptr)
      sampler_ = clCreateSampler(context_, CL_FALSE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, nullptr);
    Owned<cl_kernel> kernel = image_kernel("brighten");
    check(set_arg(kernel, 0, from));
    check(set_arg(kernel, 1, to));
    check(set_arg(kernel, 2, sampler_));
    check(set_arg(kernel, 3, add));
    return kernel;
  }
  static cl_int run_on(cl_command_queue queue, cl_kernel kernel, const Type& type) {
    return clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, type.whole().data(), nullptr, 0, nullptr, nullptr);
  }
  void TearDown() override {
    if (sampler_ != nullptr) clReleaseSampler(sampler_);
  }

 private:
  Owned<cl_program> images_;
  cl_sampler sampler_ = nullptr;
};

class ImageTypeTest : public ImageTest, public ::testing::WithParamInterface<Type> {};
INSTANTIATE_TEST_SUITE_P(All, ImageTypeTest, ::testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(ImageTypeTest, GivesBackWhatWasWritten) {
  const Type& type = GetParam();
  const Owned<cl_mem> image = make_image(context_, type.description());
  const Pixels pixels = numbers_of(type.pixels() * kPixel);
  check(clEnqueueWriteImage(queue_, image, CL_FALSE, kOrigin, type.whole().data(), 0, 0, pixels.data(), 0, nullptr,
                            nullptr));
  EXPECT_EQ(read_image(queue_, image, type), pixels);
  EXPECT_EQ(read_image(other_, image, type), pixels) << "on the other server";
}

// Memory with gaps that must stay as they are, for a region in the middle.
TEST_P(ImageTypeTest, RegionsGoBetweenPitches) {
  const Type& type = GetParam();
  const Pixels all = numbers_of(type.pixels() * kPixel);
  Pixels expected = all;
  const Owned<cl_mem> image =
      make_image(context_, type.description(), CL_MEM_COPY_HOST_PTR, const_cast<unsigned char*>(all.data()));
  const auto whole = type.whole();
  std::size_t origin[3], region[3];
  for (int axis = 0; axis < 3; ++axis) {
    origin[axis] = whole[axis] > 2 ? 1 : 0;
    region[axis] = whole[axis] > 2 ? whole[axis] - 2 : whole[axis];
  }
  const bool layers_are_rows = type.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  const std::size_t row_pitch = (region[0] + 3) * kPixel;
  const std::size_t rows = layers_are_rows ? 1 : region[1], slices = layers_are_rows ? region[1] : region[2];
  const std::size_t slice_pitch = row_pitch * (rows + 1);
  Pixels host(slices * slice_pitch, 0xEE), got(slices * slice_pitch, 0xDD);
  Pixels got_expected = got;
  for (std::size_t slice = 0; slice < slices; ++slice) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t y = origin[1] + (layers_are_rows ? slice : row);
      const std::size_t z = origin[2] + (layers_are_rows ? 0 : slice);
      for (std::size_t byte = 0; byte < region[0] * kPixel; ++byte) {
        const std::size_t at = slice * slice_pitch + row * row_pitch + byte;
        host[at] = static_cast<unsigned char>(at * 3 + 1);
        got_expected[at] = host[at];
        expected[((z * whole[1] + y) * whole[0] + origin[0]) * kPixel + byte] = host[at];
      }
    }
  }
  const std::size_t given_slice = type.has_slices() ? slice_pitch : 0;
  check(clEnqueueWriteImage(queue_, image, CL_TRUE, origin, region, row_pitch, given_slice, host.data(), 0, nullptr,
                            nullptr));
  EXPECT_EQ(read_image(queue_, image, type), expected);
  check(clEnqueueReadImage(other_, image, CL_TRUE, origin, region, row_pitch, given_slice, got.data(), 0, nullptr,
                           nullptr));
  EXPECT_EQ(got, got_expected);
}

TEST_P(ImageTypeTest, WhatIsWrittenThroughAMappingIsThereEverywhere) {
  const Type& type = GetParam();
  const Pixels all = numbers_of(type.pixels() * kPixel);
  const Owned<cl_mem> image = make_image(context_, type.description());
  check(
      clEnqueueWriteImage(queue_, image, CL_TRUE, kOrigin, type.whole().data(), 0, 0, all.data(), 0, nullptr, nullptr));
  std::size_t row_pitch = 0, slice_pitch = 0;
  cl_int error = CL_SUCCESS;
  void* mapped = clEnqueueMapImage(queue_, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, kOrigin, type.whole().data(),
                                   &row_pitch, &slice_pitch, 0, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  ASSERT_EQ(row_pitch, type.width * kPixel);
  auto* bytes = static_cast<unsigned char*>(mapped);
  EXPECT_TRUE(std::equal(all.begin(), all.end(), bytes));
  Pixels expected = all;
  for (std::size_t i = 0; i < expected.size(); i += 5) bytes[i] = expected[i] = 200;
  check(clEnqueueUnmapMemObject(queue_, image, mapped, 0, nullptr, nullptr));
  EXPECT_EQ(read_image(queue_, image, type), expected);
  EXPECT_EQ(read_image(other_, image, type), expected);
}

// The image's own copy of the pixels has no gaps, whatever the memory had that they came from.
TEST_P(ImageTypeTest, ACopyOfMemoryWithGapsIsMapped) {
  const Type& type = GetParam();
  const std::size_t row = type.width * kPixel;
  cl_image_desc desc = type.description();
  desc.image_row_pitch = row + 7 * kPixel;
  if (type.has_slices()) desc.image_slice_pitch = desc.image_row_pitch * (type.height + 2);
  Pixels expected = numbers_of(type.pixels() * kPixel);
  const auto begins = type.rows(desc.image_row_pitch, desc.image_slice_pitch);
  Pixels host(begins.back() + row, 0xEE);
  for (std::size_t i = 0; i < begins.size(); ++i) std::copy_n(&expected[i * row], row, &host[begins[i]]);
  const Owned<cl_mem> image = make_image(context_, desc, CL_MEM_COPY_HOST_PTR, host.data());
  EXPECT_EQ(value<std::size_t>(clGetImageInfo, image.get(), CL_IMAGE_ROW_PITCH), desc.image_row_pitch);
  const auto whole = type.whole();
  const auto map_rows = [&](cl_map_flags flags, auto&& visit) {
    std::size_t row_pitch = 0, slice_pitch = 0, at = 0;
    cl_int error = CL_SUCCESS;
    auto* const mapped = static_cast<unsigned char*>(clEnqueueMapImage(
        queue_, image, CL_TRUE, flags, kOrigin, whole.data(), &row_pitch, &slice_pitch, 0, nullptr, nullptr, &error));
    check(error);
    for (const std::size_t begin : type.rows(row_pitch, slice_pitch)) visit(mapped + begin, &expected[at++ * row]);
    check(clEnqueueUnmapMemObject(queue_, image, mapped, 0, nullptr, nullptr));
  };
  const auto compare = [row](const auto* mapped, const auto* pixels) {
    EXPECT_EQ(std::memcmp(mapped, pixels, row), 0);
  };
  map_rows(CL_MAP_READ, compare);
  const cl_uint nines[4] = {9, 9, 9, 9};
  check(clEnqueueFillImage(other_, image, nines, kOrigin, whole.data(), 0, nullptr, nullptr));
  check(clFinish(other_));
  expected.assign(expected.size(), 9);
  map_rows(CL_MAP_READ, compare);
  expected = numbers_of(expected.size(), 100);
  map_rows(CL_MAP_WRITE, [row](auto* mapped, const auto* pixels) { std::memcpy(mapped, pixels, row); });
  EXPECT_EQ(read_image(other_, image, type), expected);
}

TEST_P(ImageTypeTest, CopiesAndFillsStayInTheirRegion) {
  const Type& type = GetParam();
  const Pixels all = numbers_of(type.pixels() * kPixel);
  const Owned<cl_mem> from =
      make_image(context_, type.description(), CL_MEM_COPY_HOST_PTR, const_cast<unsigned char*>(all.data()));
  const Owned<cl_mem> to = make_image(context_, type.description());
  check(clEnqueueCopyImage(queue_, from, to, kOrigin, kOrigin, type.whole().data(), 0, nullptr, nullptr));
  const cl_uint color[4] = {1, 2, 3, 4};
  const std::size_t first_two[3] = {2, 1, 1};
  check(clEnqueueFillImage(other_, to, color, kOrigin, first_two, 0, nullptr, nullptr));
  check(clFinish(other_));
  Pixels expected = all;
  for (std::size_t i = 0; i < 2 * kPixel; ++i) expected[i] = static_cast<unsigned char>(1 + i % 4);
  EXPECT_EQ(read_image(queue_, to, type), expected);
  EXPECT_EQ(read_image(queue_, from, type), all);
}

TEST_P(ImageTypeTest, GoesThroughABufferAndBack) {
  const Type& type = GetParam();
  if (type.description().image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY && !Environment::get().is_pocl()) {
    GTEST_SKIP() << "NVIDIA's driver answers CL_INVALID_VALUE to a program of its own, too";
  }
  const std::size_t size = type.pixels() * kPixel;
  const Pixels all = numbers_of(size);
  const Owned<cl_mem> from =
      make_image(context_, type.description(), CL_MEM_COPY_HOST_PTR, const_cast<unsigned char*>(all.data()));
  const Owned<cl_mem> buffer = make_buffer(context_, size + 16);
  const Owned<cl_mem> to = make_image(context_, type.description());
  check(clEnqueueCopyImageToBuffer(queue_, from, buffer, kOrigin, type.whole().data(), 16, 0, nullptr, nullptr));
  EXPECT_EQ(read<unsigned char>(queue_, buffer, size, 16), all);
  check(clEnqueueCopyBufferToImage(other_, buffer, to, 16, kOrigin, type.whole().data(), 0, nullptr, nullptr));
  EXPECT_EQ(read_image(other_, to, type), all);
}

TEST_F(ImageTest, KernelsOnTwoServersTakeTurns) {
  const Type type = kTypes[3];
  const Pixels all = numbers_of(type.pixels() * kPixel);
  Pixels host = all;
  const Owned<cl_mem> a = make_image(context_, type.description(), CL_MEM_COPY_HOST_PTR, host.data());
  const Owned<cl_mem> b = make_image(context_, type.description());
  for (int turn = 0; turn < 6; ++turn) {
    cl_command_queue queue = turn % 3 == 0 ? queue_ : other_;
    const Owned<cl_kernel> kernel = turn % 2 == 0 ? brighten(a, b, 1) : brighten(b, a, 1);
    check(run_on(queue, kernel, type));
    check(clFlush(queue));
    if (turn % 3 != 1) check(clFinish(queue));  // two servers keep no order between queues by themselves
  }
  check(clFinish(queue_));
  check(clFinish(other_));
  Pixels expected = all;
  for (auto& byte : expected) byte = static_cast<unsigned char>(std::min(255, byte + 6));
  EXPECT_EQ(read_image(queue_, a, type), expected);
}

// What the application sees must be its own memory, with its own gaps.
TEST_F(ImageTest, TheApplicationsMemoryKeepsItsPitches) {
  const Type type = kTypes[2];
  cl_image_desc desc = type.description();
  desc.image_row_pitch = (type.width + 9) * kPixel;
  Pixels host(desc.image_row_pitch * type.height, 0xEE);
  for (std::size_t y = 0; y < type.height; ++y) {
    for (std::size_t x = 0; x < type.width * kPixel; ++x) host[y * desc.image_row_pitch + x] = x + y;
  }
  Pixels expected = host;
  const Owned<cl_mem> image = make_image(context_, desc, CL_MEM_USE_HOST_PTR, host.data());
  const Owned<cl_mem> brighter = make_image(context_, type.description());
  check(run_on(other_, brighten(image, brighter, 50), type));
  check(clFinish(other_));
  check(clEnqueueCopyImage(other_, brighter, image, kOrigin, kOrigin, type.whole().data(), 0, nullptr, nullptr));
  check(clFinish(other_));
  std::size_t row_pitch = 0;
  cl_int error = CL_SUCCESS;
  const std::size_t origin[3] = {1, 2, 0}, region[3] = {type.width - 1, type.height - 2, 1};
  void* mapped = clEnqueueMapImage(queue_, image, CL_TRUE, CL_MAP_READ, origin, region, &row_pitch, nullptr, 0, nullptr,
                                   nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(mapped, host.data() + 2 * desc.image_row_pitch + kPixel);
  EXPECT_EQ(row_pitch, desc.image_row_pitch);
  for (std::size_t y = 2; y < type.height; ++y) {
    for (std::size_t x = kPixel; x < type.width * kPixel; ++x) expected[y * desc.image_row_pitch + x] += 50;
  }
  EXPECT_EQ(host, expected);
  check(clEnqueueUnmapMemObject(queue_, image, mapped, 0, nullptr, nullptr));
}

// One storage: whoever writes one sees it in the other, on any server.
TEST_F(ImageTest, AnImageOfABufferIsTheBuffer) {
  constexpr std::size_t kCount = 64;
  const Owned<cl_mem> buffer = make_buffer(context_, numbers_of(kCount * kPixel));
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  desc.image_width = kCount;
  desc.buffer = buffer;
  const Owned<cl_mem> image = make_image(context_, desc);
  EXPECT_EQ(value<cl_mem>(clGetImageInfo, image.get(), CL_IMAGE_BUFFER), buffer.get());
  const Owned<cl_mem> flat = make_buffer(context_, kCount * 4 * sizeof(cl_uint));
  const Owned<cl_kernel> kernel = image_kernel("flatten");
  check(set_arg(kernel, 0, image));
  check(set_arg(kernel, 1, flat));
  for (const unsigned char add : {0, 100}) {
    const Pixels content = numbers_of(kCount * kPixel, add);
    check(clEnqueueWriteBuffer(queue_, buffer, CL_TRUE, 0, content.size(), content.data(), 0, nullptr, nullptr));
    check(run(other_, kernel, kCount));
    const auto components = read<cl_uint>(other_, flat, kCount * 4);
    EXPECT_TRUE(std::equal(content.begin(), content.end(), components.begin()));
  }
}

// Drivers that cannot copy such images, or crash on it, are not asked to.
TEST_F(ImageTest, AnImageOfABufferIsCopiedLikeAnyOther) {
  constexpr std::size_t kCount = 64;
  const Type type{"Image1D", CL_MEM_OBJECT_IMAGE1D, kCount, 0, 0, 0};
  const Pixels content = numbers_of(kCount * kPixel);
  const Owned<cl_mem> bytes = make_buffer(context_, content), other_bytes = make_buffer(context_, content.size());
  const auto view_of = [&](cl_mem buffer) {
    cl_image_desc desc = type.description();
    desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    desc.buffer = buffer;
    return make_image(context_, desc);
  };
  const Owned<cl_mem> view = view_of(bytes), other_view = view_of(other_bytes);
  const Owned<cl_mem> image = make_image(context_, type.description());
  const Owned<cl_mem> buffer = make_buffer(context_, content.size());
  const auto whole = type.whole();
  check(clEnqueueCopyImage(queue_, view, image, kOrigin, kOrigin, whole.data(), 0, nullptr, nullptr));
  EXPECT_EQ(read_image(queue_, image, type), content);
  check(clEnqueueCopyImageToBuffer(queue_, view, buffer, kOrigin, whole.data(), 0, 0, nullptr, nullptr));
  EXPECT_EQ(read<unsigned char>(queue_, buffer, content.size()), content);
  const std::size_t second[3] = {1, 0, 0}, rest[3] = {kCount - 1, 1, 1};
  check(clEnqueueCopyImage(other_, view, other_view, kOrigin, second, rest, 0, nullptr, nullptr));
  const Pixels copied = read<unsigned char>(queue_, other_bytes, content.size());
  EXPECT_TRUE(std::equal(copied.begin() + kPixel, copied.end(), content.begin()));
}

TEST_F(ImageTest, FormatsAreTheNativeOnes) {
  if (Environment::get().native_device() == nullptr) GTEST_SKIP() << "no native driver here";
  const Owned<cl_context> native = make_context({Environment::get().native_device()});
  for (const Type& type : kTypes) {
    cl_uint here = 0, there = 0;
    check(clGetSupportedImageFormats(native, CL_MEM_READ_WRITE, type.type, 0, nullptr, &here));
    check(clGetSupportedImageFormats(context_, CL_MEM_READ_WRITE, type.type, 0, nullptr, &there));
    std::vector<cl_image_format> expected(here), actual(there);
    check(clGetSupportedImageFormats(native, CL_MEM_READ_WRITE, type.type, here, expected.data(), nullptr));
    check(clGetSupportedImageFormats(context_, CL_MEM_READ_WRITE, type.type, there, actual.data(), nullptr));
    // Formats of a vendor's own are left out: nobody else knows the size of their pixels.
    std::erase_if(expected, [](const cl_image_format& format) {
      return format.image_channel_order < CL_R || format.image_channel_order > CL_ABGR ||
             format.image_channel_data_type < CL_SNORM_INT8 || format.image_channel_data_type > CL_UNORM_INT_101010_2;
    });
    ASSERT_EQ(expected.size(), there) << type.name;
    ASSERT_NE(there, 0u) << type.name;
    EXPECT_EQ(std::memcmp(expected.data(), actual.data(), there * sizeof(cl_image_format)), 0) << type.name;
  }
}

}  // namespace
}  // namespace remotecl::testing
