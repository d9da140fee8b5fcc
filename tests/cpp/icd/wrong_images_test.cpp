// Images and samplers that go wrong.
#include "icd/wrong_calls.h"

namespace remotecl::testing {
namespace {

#define CALL(expression) [](World& w) -> cl_int { return expression; }
#define CREATE(expression) [](World& w) -> cl_int { return error_of([&](cl_int* error) { return expression; }); }

constexpr cl_image_format kFormat{CL_RGBA, CL_UNSIGNED_INT8};
constexpr std::size_t kWidth = 16, kHeight = 8, kBytes = kWidth * kHeight * 4;
constexpr std::size_t kZero[3] = {}, kWhole[3] = {kWidth, kHeight, 1};

cl_image_desc description(cl_mem_object_type type = CL_MEM_OBJECT_IMAGE2D) {
  cl_image_desc desc{};
  desc.image_type = type;
  desc.image_width = kWidth;
  desc.image_height = kHeight;
  desc.image_depth = 2;
  desc.image_array_size = 2;
  return desc;
}

Owned<cl_mem> image_of(World& w, const cl_image_format& format = kFormat, cl_mem_flags flags = CL_MEM_READ_WRITE) {
  const cl_image_desc desc = description();
  cl_int error = CL_SUCCESS;
  Owned<cl_mem> image(clCreateImage(w.context, flags, &format, &desc, nullptr, &error));
  check(error);
  return image;
}

// The error of an image like a good one but for what `spoil` does to its description.
template <class Spoil>
cl_int image_with(World& w, Spoil&& spoil, cl_mem_flags flags = 0, void* host = nullptr,
                  cl_mem_object_type type = CL_MEM_OBJECT_IMAGE2D) {
  return error_of([&](cl_int* error) {
    cl_image_desc desc = description(type);
    spoil(desc);
    return clCreateImage(w.context, flags, &kFormat, &desc, host, error);
  });
}
cl_int image_in_format(World& w, cl_image_format format) {
  return error_of([&](cl_int* error) {
    const cl_image_desc desc = description();
    return clCreateImage(w.context, 0, &format, &desc, nullptr, error);
  });
}
cl_int image_with_flags(World& w, cl_mem_flags flags, void* host = nullptr) {
  return image_with(
      w, [](cl_image_desc&) {}, flags, host);
}
cl_int image_of_buffer(World& w, cl_mem buffer, std::size_t width, cl_mem_flags flags = 0) {
  return image_with(
      w,
      [&](cl_image_desc& desc) {
        desc = {};
        desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
        desc.image_width = width;
        desc.buffer = buffer;
      },
      flags);
}

constexpr const char* kOtherCode = "PoCL has another code for it";

const WrongCall kImages[] = {
    {"ImageNoFormat", CL_INVALID_IMAGE_FORMAT_DESCRIPTOR,
     [](World& w) {
       return error_of([&](cl_int* error) {
         const cl_image_desc desc = description();
         return clCreateImage(w.context, 0, nullptr, &desc, nullptr, error);
       });
     }},
    {"ImageNoDescription", CL_INVALID_IMAGE_DESCRIPTOR,
     CREATE(clCreateImage(w.context, 0, &kFormat, nullptr, nullptr, error))},
    {"ImageFormatThatIsNone", CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, CALL(image_in_format(w, {CL_RGB, CL_FLOAT})),
     kOtherCode},
    {"ImageFormatOfNobody", CL_IMAGE_FORMAT_NOT_SUPPORTED, CALL(image_in_format(w, {CL_sRGBx, CL_UNORM_INT8})),
     kOtherCode},
    {"ImageNoWidth", CL_INVALID_IMAGE_DESCRIPTOR, CALL(image_with(w, [](auto& d) { d.image_width = 0; })), kOtherCode},
    {"ImageNoHeight", CL_INVALID_IMAGE_DESCRIPTOR, CALL(image_with(w, [](auto& d) { d.image_height = 0; })),
     kOtherCode},
    {"ImageNoLayers", CL_INVALID_IMAGE_DESCRIPTOR,
     CALL(image_with(
         w, [](auto& d) { d.image_array_size = 0; }, 0, nullptr, CL_MEM_OBJECT_IMAGE2D_ARRAY)),
     kOtherCode},
    {"ImageTooWide", CL_INVALID_IMAGE_SIZE, CALL(image_with(w, [](auto& d) { d.image_width = 1u << 24; })), kOtherCode},
    {"ImageOverflow", CL_INVALID_IMAGE_SIZE,
     CALL(image_with(w, [](auto& d) { d.image_width = d.image_height = ~std::size_t{0}; })), kOtherCode},
    {"ImageOfABuffersType", CL_INVALID_IMAGE_DESCRIPTOR,
     CALL(image_with(w, [](auto& d) { d.image_type = CL_MEM_OBJECT_BUFFER; })), kOtherCode},
    {"ImageMipLevels", CL_INVALID_IMAGE_DESCRIPTOR, CALL(image_with(w, [](auto& d) { d.num_mip_levels = 2; })),
     "PoCL aborts"},
    {"ImagePitchWithoutMemory", CL_INVALID_IMAGE_DESCRIPTOR,
     CALL(image_with(w, [](auto& d) { d.image_row_pitch = 128; })), "PoCL does not look"},
    {"ImagePitchShorterThanARow", CL_INVALID_IMAGE_DESCRIPTOR,
     CALL(image_with(
         w, [](auto& d) { d.image_row_pitch = 32; }, CL_MEM_COPY_HOST_PTR, w.host.data())),
     "PoCL does not look"},
    {"ImagePitchOfHalfAPixel", CL_INVALID_IMAGE_DESCRIPTOR,
     CALL(image_with(
         w, [](auto& d) { d.image_row_pitch = 66; }, CL_MEM_COPY_HOST_PTR, w.host.data())),
     kOtherCode},
    {"ImageSlicePitchTooSmall", CL_INVALID_IMAGE_DESCRIPTOR,
     CALL(image_with(
         w, [](auto& d) { d.image_slice_pitch = 64; }, CL_MEM_COPY_HOST_PTR, w.host.data(), CL_MEM_OBJECT_IMAGE3D)),
     "PoCL does not look"},
    {"ImageUseWithoutPointer", CL_INVALID_HOST_PTR, CALL(image_with_flags(w, CL_MEM_USE_HOST_PTR))},
    {"ImagePointerWithoutFlag", CL_INVALID_HOST_PTR, CALL(image_with_flags(w, 0, w.host.data()))},
    {"ImageTwoAccesses", CL_INVALID_VALUE, CALL(image_with_flags(w, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY))},
    {"ImageUnknownFlag", CL_INVALID_VALUE, CALL(image_with_flags(w, cl_mem_flags{1} << 40))},
    {"ImageOfNoBuffer", CL_INVALID_IMAGE_DESCRIPTOR, CALL(image_of_buffer(w, nullptr, 64)), kOtherCode},
    {"ImageLargerThanItsBuffer", CL_INVALID_IMAGE_DESCRIPTOR, CALL(image_of_buffer(w, w.buffer, 1025)), kOtherCode},
    {"ImageOfABufferWithMemory", CL_INVALID_VALUE, CALL(image_of_buffer(w, w.buffer, 64, CL_MEM_ALLOC_HOST_PTR)),
     "PoCL does not look"},
    {"Image2DOldNoWidth", CL_INVALID_IMAGE_SIZE,
     CREATE(clCreateImage2D(w.context, 0, &kFormat, 0, kHeight, 0, nullptr, error)), kOtherCode},
    {"Image3DOldOneSlice", CL_INVALID_IMAGE_SIZE,
     CREATE(clCreateImage3D(w.context, 0, &kFormat, kWidth, kHeight, 1, 0, 0, nullptr, error)), kOtherCode},
    {"ImageInfoOfABuffer", CL_INVALID_MEM_OBJECT,
     CALL(clGetImageInfo(w.buffer, CL_IMAGE_WIDTH, 8, w.host.data(), nullptr)), "PoCL answers"},
    {"ImageInfoUnknown", CL_INVALID_VALUE, CALL(clGetImageInfo(image_of(w), 0x7777, 8, w.host.data(), nullptr))},
    {"ImageInfoTooSmall", CL_INVALID_VALUE,
     CALL(clGetImageInfo(image_of(w), CL_IMAGE_WIDTH, 4, w.host.data(), nullptr))},
    {"FormatsOfABuffer", CL_INVALID_VALUE,
     CALL(clGetSupportedImageFormats(w.context, 0, CL_MEM_OBJECT_BUFFER, 0, nullptr, nullptr))},
    {"FormatsNoEntries", CL_INVALID_VALUE,
     [](World& w) {
       cl_image_format one{};
       return clGetSupportedImageFormats(w.context, 0, CL_MEM_OBJECT_IMAGE2D, 0, &one, nullptr);
     }},
    {"BufferReadOfAnImage", CL_INVALID_MEM_OBJECT,
     CALL(clEnqueueReadBuffer(w.queue, image_of(w), CL_TRUE, 0, 4, w.host.data(), 0, nullptr, nullptr)),
     "PoCL does not look"},
    {"SubBufferOfAnImage", CL_INVALID_MEM_OBJECT,
     [](World& w) {
       const Owned<cl_mem> image = image_of(w);
       return error_of([&](cl_int* error) {
         const cl_buffer_region region{0, 64};
         return clCreateSubBuffer(image, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, error);
       });
     }},
};
INSTANTIATE_TEST_SUITE_P(Image, WrongCallTest, ::testing::ValuesIn(kImages), wrong_call_name);

cl_int read_image(World& w, std::array<std::size_t, 3> origin, std::array<std::size_t, 3> region,
                  std::size_t row_pitch = 0, std::size_t slice_pitch = 0, cl_mem_flags flags = 0) {
  return clEnqueueReadImage(w.queue, image_of(w, kFormat, flags), CL_TRUE, origin.data(), region.data(), row_pitch,
                            slice_pitch, w.host.data(), 0, nullptr, nullptr);
}
cl_int copy_image(World& w, std::array<std::size_t, 3> to, std::array<std::size_t, 3> region) {
  const Owned<cl_mem> image = image_of(w);
  return clEnqueueCopyImage(w.queue, image, image, kZero, to.data(), region.data(), 0, nullptr, nullptr);
}
cl_int map_image(World& w, cl_map_flags flags, bool asks_for_pitch, std::size_t width = kWidth,
                 cl_mem_flags image_flags = 0) {
  const Owned<cl_mem> image = image_of(w, kFormat, image_flags);
  const std::size_t region[3] = {width, 1, 1};
  std::size_t row_pitch = 0;
  cl_int error = CL_SUCCESS;
  void* mapped = clEnqueueMapImage(w.queue, image, CL_TRUE, flags, kZero, region, asks_for_pitch ? &row_pitch : nullptr,
                                   nullptr, 0, nullptr, nullptr, &error);
  if (mapped != nullptr) clEnqueueUnmapMemObject(w.queue, image, mapped, 0, nullptr, nullptr);
  clFinish(w.queue);
  return error;
}

const WrongCall kTransfers[] = {
    {"ReadImagePastEnd", CL_INVALID_VALUE, CALL(read_image(w, {1, 0, 0}, {kWidth, kHeight, 1}))},
    {"ReadImageOverflow", CL_INVALID_VALUE, CALL(read_image(w, {~std::size_t{0}, 0, 0}, {2, 1, 1})),
     "PoCL adds without looking at the overflow"},
    {"ReadImageNothing", CL_INVALID_VALUE, CALL(read_image(w, {0, 0, 0}, {kWidth, 0, 1})), "PoCL does nothing"},
    {"ReadImageTwoSlicesOf2D", CL_INVALID_VALUE, CALL(read_image(w, {0, 0, 0}, {kWidth, kHeight, 2}))},
    {"ReadImageShortPitch", CL_INVALID_VALUE, CALL(read_image(w, {0, 0, 0}, {kWidth, kHeight, 1}, 32)),
     "PoCL does not look"},
    {"ReadImageSlicePitchOf2D", CL_INVALID_VALUE, CALL(read_image(w, {0, 0, 0}, {kWidth, kHeight, 1}, 0, kBytes)),
     "PoCL does not look"},
    {"ReadImageThatTheHostMayNot", CL_INVALID_OPERATION,
     CALL(read_image(w, {0, 0, 0}, {kWidth, kHeight, 1}, 0, 0, CL_MEM_HOST_WRITE_ONLY))},
    {"ReadImageNowhere", CL_INVALID_VALUE,
     CALL(clEnqueueReadImage(w.queue, image_of(w), CL_TRUE, kZero, kWhole, 0, 0, nullptr, 0, nullptr, nullptr))},
    {"ReadImageNoOrigin", CL_INVALID_VALUE,
     CALL(clEnqueueReadImage(w.queue, image_of(w), CL_TRUE, nullptr, kWhole, 0, 0, w.host.data(), 0, nullptr, nullptr)),
     "not asked"},
    {"ReadImageOfABuffer", CL_INVALID_MEM_OBJECT,
     CALL(clEnqueueReadImage(w.queue, w.buffer, CL_TRUE, kZero, kWhole, 0, 0, w.host.data(), 0, nullptr, nullptr))},
    {"WriteImageThatTheHostMayNot", CL_INVALID_OPERATION,
     CALL(clEnqueueWriteImage(w.queue, image_of(w, kFormat, CL_MEM_HOST_READ_ONLY), CL_TRUE, kZero, kWhole, 0, 0,
                              w.host.data(), 0, nullptr, nullptr))},
    {"CopyImageOverlap", CL_MEM_COPY_OVERLAP, CALL(copy_image(w, {1, 1, 0}, {8, 4, 1}))},
    {"CopyImagePastEnd", CL_INVALID_VALUE, CALL(copy_image(w, {1, 1, 0}, {kWidth, 1, 1})),
     "PoCL looks for an overlap first, and finds one"},
    {"CopyImageBetweenFormats", CL_IMAGE_FORMAT_MISMATCH,
     CALL(clEnqueueCopyImage(w.queue, image_of(w), image_of(w, {CL_RGBA, CL_UNORM_INT8}), kZero, kZero, kWhole, 0,
                             nullptr, nullptr))},
    {"FillImageNoColor", CL_INVALID_VALUE,
     CALL(clEnqueueFillImage(w.queue, image_of(w), nullptr, kZero, kWhole, 0, nullptr, nullptr))},
    {"ImageToBufferPastEnd", CL_INVALID_VALUE,
     CALL(clEnqueueCopyImageToBuffer(w.queue, image_of(w), w.buffer, kZero, kWhole, 4096 - kBytes + 1, 0, nullptr,
                                     nullptr))},
    {"BufferToImagePastEnd", CL_INVALID_VALUE,
     CALL(clEnqueueCopyBufferToImage(w.queue, w.buffer, image_of(w), 4096 - kBytes + 1, kZero, kWhole, 0, nullptr,
                                     nullptr))},
    {"MapImageNoPitch", CL_INVALID_VALUE, CALL(map_image(w, CL_MAP_READ, false))},
    {"MapImagePastEnd", CL_INVALID_VALUE, CALL(map_image(w, CL_MAP_READ, true, kWidth + 1))},
    {"MapImageUnknownFlag", CL_INVALID_VALUE, CALL(map_image(w, 1u << 10, true)), "PoCL does not look"},
    {"MapImageThatTheHostMayNot", CL_INVALID_OPERATION,
     CALL(map_image(w, CL_MAP_READ, true, kWidth, CL_MEM_HOST_NO_ACCESS))},
};
INSTANTIATE_TEST_SUITE_P(ImageTransfer, WrongCallTest, ::testing::ValuesIn(kTransfers), wrong_call_name);

cl_int sampler(World& w, cl_bool normalized, cl_addressing_mode addressing, cl_filter_mode filter) {
  return error_of([&](cl_int* error) { return clCreateSampler(w.context, normalized, addressing, filter, error); });
}
const cl_sampler_properties kTwice[] = {CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, CL_SAMPLER_FILTER_MODE,
                                        CL_FILTER_LINEAR, 0};
const cl_sampler_properties kUnknown[] = {0x7777, 1, 0};

const WrongCall kSamplers[] = {
    {"SamplerNotABool", CL_INVALID_VALUE, CALL(sampler(w, 2, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST))},
    {"SamplerUnknownAddressing", CL_INVALID_VALUE, CALL(sampler(w, CL_TRUE, 0x7777, CL_FILTER_NEAREST)),
     "PoCL does not look"},
    {"SamplerUnknownFilter", CL_INVALID_VALUE, CALL(sampler(w, CL_TRUE, CL_ADDRESS_CLAMP, 0x7777)),
     "PoCL does not look"},
    {"SamplerRepeatsPixels", CL_INVALID_VALUE, CALL(sampler(w, CL_FALSE, CL_ADDRESS_REPEAT, CL_FILTER_NEAREST))},
    {"SamplerPropertyTwice", CL_INVALID_VALUE, CREATE(clCreateSamplerWithProperties(w.context, kTwice, error))},
    {"SamplerUnknownProperty", CL_INVALID_VALUE, CREATE(clCreateSamplerWithProperties(w.context, kUnknown, error))},
};
INSTANTIATE_TEST_SUITE_P(Sampler, WrongCallTest, ::testing::ValuesIn(kSamplers), wrong_call_name);

}  // namespace
}  // namespace remotecl::testing
