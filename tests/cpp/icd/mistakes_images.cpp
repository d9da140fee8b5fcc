#include "icd/mistakes.h"

namespace remotecl::testing {
namespace {

cl_image_format format(Choice& choice) {
  return {choice.usually<cl_channel_order>(CL_RGBA, {CL_R, CL_A, CL_RG, CL_BGRA, CL_RGB, CL_INTENSITY, CL_LUMINANCE,
                                                     CL_DEPTH, CL_sRGBA, CL_ABGR, 0x1234}),
          choice.usually<cl_channel_type>(CL_UNSIGNED_INT8, {CL_SNORM_INT8, CL_UNORM_INT16, CL_UNORM_SHORT_565,
                                                             CL_UNORM_SHORT_555, CL_UNORM_INT_101010, CL_SIGNED_INT16,
                                                             CL_FLOAT, CL_HALF_FLOAT, CL_UNORM_INT24, 0x1234})};
}

std::size_t side(Choice& choice) {
  return choice.usually(choice.below(8) + 1, {0, 17, 1000, 1u << 20, ~std::size_t{0}});
}

}  // namespace

Mistakes::Region Mistakes::region(Choice& choice) {
  const auto start = [&] { return choice.usually<std::size_t>(0, {1, 3, 7, 8, ~std::size_t{0}}); };
  const auto length = [&](std::size_t usual) { return choice.usually(usual, {0, 1, 2, 8, 9, ~std::size_t{0}}); };
  return {{start(), start(), start()}, {length(4), length(1), length(1)}};
}

// One axis at most is long, so that what can be made is small.
cl_int Mistakes::create_image(Choice& choice) {
  const cl_image_format of = format(choice);
  cl_image_desc description{};
  description.image_type = choice.usually<cl_mem_object_type>(
      CL_MEM_OBJECT_IMAGE2D, {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE3D, CL_MEM_OBJECT_IMAGE1D_ARRAY,
                              CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_MEM_OBJECT_BUFFER, 0});
  std::size_t* const sides[] = {&description.image_width, &description.image_height, &description.image_depth,
                                &description.image_array_size};
  for (std::size_t* length : sides) *length = choice.below(4) + 1;
  *sides[choice.below(4)] = side(choice);
  description.image_row_pitch = choice.usually<std::size_t>(0, {1, 16, 64, 4096});
  description.image_slice_pitch = choice.usually<std::size_t>(0, {1, 64, 256});
  description.num_mip_levels = choice.usually<cl_uint>(0, {1, 2});
  description.buffer = choice.one_in(5) ? buffer(choice) : nullptr;
  const auto flags = choice.usually<cl_mem_flags>(
      CL_MEM_READ_WRITE, {0, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
                          CL_MEM_KERNEL_READ_AND_WRITE, cl_mem_flags{1} << 40});
  cl_int code = CL_SUCCESS;
  const Owned<cl_mem> made(clCreateImage(context_, flags, &of, &description, nullptr, &code));
  if (code != CL_SUCCESS) return code;
  const std::size_t origin[3] = {0, 0, 0}, size[3] = {1, 1, 1};
  cl_event event = nullptr;
  code = clEnqueueWriteImage(queue_, made, CL_TRUE, origin, size, 0, 0, host(), 0, nullptr, &event);
  return settle(code, event);
}

cl_int Mistakes::create_sampler(Choice& choice) {
  cl_int code = CL_SUCCESS;
  cl_sampler made = clCreateSampler(
      context_, choice.usually<cl_bool>(CL_FALSE, {CL_TRUE, 7}),
      choice.usually<cl_addressing_mode>(CL_ADDRESS_CLAMP,
                                         {CL_ADDRESS_NONE, CL_ADDRESS_REPEAT, CL_ADDRESS_MIRRORED_REPEAT, 0, 0x1111}),
      choice.usually<cl_filter_mode>(CL_FILTER_NEAREST, {CL_FILTER_LINEAR, 0, 0x1111}), &code);
  if (code != CL_SUCCESS) return code;
  code = set_arg(looks_, 1, made);
  if (code == CL_SUCCESS) code = launch(looks_, {1, {}, {1, 1, 1}, {1, 1, 1}, false});
  clReleaseSampler(made);
  return code;
}

cl_int Mistakes::read_image(Choice& choice) {
  const cl_mem from = image(choice);
  const Region part = region(choice);
  const auto row = choice.usually<std::size_t>(0, {1, 64, 128, 200});
  const auto slice = choice.usually<std::size_t>(0, {1, 512, 1024});
  void* const to = choice.one_in(20) ? nullptr : host();
  const Waits after = waits(choice);
  cl_event event = nullptr;
  return settle(clEnqueueReadImage(queue_, from, choice.below(2) != 0, part.origin.data(), part.size.data(), row, slice,
                                   to, after.count, after.list, &event),
                event);
}

cl_int Mistakes::write_image(Choice& choice) {
  const cl_mem to = image(choice);
  const Region part = region(choice);
  const auto row = choice.usually<std::size_t>(0, {1, 64, 128, 200});
  const auto slice = choice.usually<std::size_t>(0, {1, 512, 1024});
  const void* const from = choice.one_in(20) ? nullptr : host();
  const Waits after = waits(choice);
  cl_event event = nullptr;
  return settle(clEnqueueWriteImage(queue_, to, choice.below(2) != 0, part.origin.data(), part.size.data(), row, slice,
                                    from, after.count, after.list, &event),
                event);
}

cl_int Mistakes::copy_image(Choice& choice) {
  const cl_mem from = image(choice), to = image(choice);
  const Region part = region(choice), other = region(choice);
  cl_event event = nullptr;
  return settle(clEnqueueCopyImage(queue_, from, to, part.origin.data(), other.origin.data(), part.size.data(), 0,
                                   nullptr, &event),
                event);
}

cl_int Mistakes::copy_image_to_buffer(Choice& choice) {
  const cl_mem from = image(choice), to = buffer(choice);
  const Region part = region(choice);
  const std::size_t at = offset(choice);
  cl_event event = nullptr;
  return settle(
      clEnqueueCopyImageToBuffer(queue_, from, to, part.origin.data(), part.size.data(), at, 0, nullptr, &event),
      event);
}

cl_int Mistakes::copy_buffer_to_image(Choice& choice) {
  const cl_mem from = buffer(choice), to = image(choice);
  const Region part = region(choice);
  const std::size_t at = offset(choice);
  cl_event event = nullptr;
  return settle(
      clEnqueueCopyBufferToImage(queue_, from, to, at, part.origin.data(), part.size.data(), 0, nullptr, &event),
      event);
}

cl_int Mistakes::fill_image(Choice& choice) {
  const cl_mem to = image(choice);
  const Region part = region(choice);
  const cl_int4 color{{1, 2, 3, 4}};
  const void* const from = choice.one_in(20) ? nullptr : &color;
  cl_event event = nullptr;
  return settle(clEnqueueFillImage(queue_, to, from, part.origin.data(), part.size.data(), 0, nullptr, &event), event);
}

cl_int Mistakes::map_image(Choice& choice) {
  const cl_mem of = image(choice);
  const Region part = region(choice);
  const auto flags =
      choice.usually<cl_map_flags>(CL_MAP_READ, {0, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION, 1u << 9});
  std::size_t row = 0, slice = 0;
  cl_int code = CL_SUCCESS;
  void* const mapped = clEnqueueMapImage(queue_, of, CL_TRUE, flags, part.origin.data(), part.size.data(),
                                         choice.one_in(20) ? nullptr : &row, choice.one_in(8) ? nullptr : &slice, 0,
                                         nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return code;
  return settle(clEnqueueUnmapMemObject(queue_, of, mapped, 0, nullptr, nullptr));
}

cl_int Mistakes::image_formats(Choice& choice) {
  const auto flags = choice.usually<cl_mem_flags>(
      CL_MEM_READ_WRITE,
      {0, CL_MEM_READ_ONLY, CL_MEM_KERNEL_READ_AND_WRITE, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, cl_mem_flags{1} << 40});
  const auto type = choice.usually<cl_mem_object_type>(
      CL_MEM_OBJECT_IMAGE2D, {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE3D, CL_MEM_OBJECT_BUFFER, 0, 0x1234});
  cl_uint count = 0;
  return clGetSupportedImageFormats(context_, flags, type, 0, nullptr, &count);
}

}  // namespace remotecl::testing
