// Creation of images, and queries about them.
#include <bit>

#include "icd/image_checks.h"
#include "icd/info.h"

namespace {

using namespace remotecl;
using icd::InfoSink;
using icd::object;
using icd::require;

cl_mem make_image(cl_context context, std::vector<cl_mem_properties> properties, cl_mem_flags flags,
                  const cl_image_format* format, const cl_image_desc* description, void* host_ptr) {
  Context& in = object<Context>(context);
  icd::require_valid(flags);
  MemoryObject* buffer = nullptr;
  const ImageLayout layout = icd::checked_layout(in, flags, format, description, host_ptr, buffer);
  if (buffer != nullptr) {
    return make_ref<MemoryObject>(Ref<MemoryObject>(buffer), flags, layout, std::move(properties)).detach()->handle();
  }
  return make_ref<MemoryObject>(Ref<Context>(&in), flags, layout, host_ptr, std::move(properties)).detach()->handle();
}

const icd::InfoRow<MemoryObject, const ImageLayout&> kImageInfo[] = {
    {CL_IMAGE_FORMAT, [](MemoryObject&, const InfoSink& sink, const ImageLayout& i) { sink.value(i.format); }},
    {CL_IMAGE_ELEMENT_SIZE,
     [](MemoryObject&, const InfoSink& sink, const ImageLayout& i) { sink.value<std::size_t>(i.shape.pixel); }},
    {CL_IMAGE_ROW_PITCH,
     [](MemoryObject&, const InfoSink& sink, const ImageLayout& i) { sink.value<std::size_t>(i.pitches.row); }},
    // "For a 1D image, 1D image buffer and 2D image object return 0."
    {CL_IMAGE_SLICE_PITCH,
     [](MemoryObject&, const InfoSink& sink, const ImageLayout& i) {
       sink.value<std::size_t>(i.shape.has_slices() ? i.pitches.slice : 0);
     }},
    {CL_IMAGE_WIDTH,
     [](MemoryObject&, const InfoSink& sink, const ImageLayout& i) { sink.value<std::size_t>(i.shape.width); }},
    {CL_IMAGE_HEIGHT,
     [](MemoryObject&, const InfoSink& sink, const ImageLayout& i) { sink.value<std::size_t>(i.shape.height); }},
    {CL_IMAGE_DEPTH,
     [](MemoryObject&, const InfoSink& sink, const ImageLayout& i) { sink.value<std::size_t>(i.shape.depth); }},
    {CL_IMAGE_ARRAY_SIZE,
     [](MemoryObject&, const InfoSink& sink, const ImageLayout& i) { sink.value<std::size_t>(i.shape.array_size); }},
    {CL_IMAGE_BUFFER,
     [](MemoryObject& m, const InfoSink& sink, const ImageLayout&) {
       sink.value<cl_mem>(m.parent() == nullptr ? nullptr : m.parent()->handle());
     }},
    {CL_IMAGE_NUM_MIP_LEVELS, [](MemoryObject&, const InfoSink& sink, const ImageLayout&) { sink.value<cl_uint>(0); }},
    {CL_IMAGE_NUM_SAMPLES, [](MemoryObject&, const InfoSink& sink, const ImageLayout&) { sink.value<cl_uint>(0); }},
};

}  // namespace

CL_API_ENTRY cl_mem CL_API_CALL clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                              const cl_image_desc* description, void* host_ptr, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] { return make_image(context, {}, flags, format, description, host_ptr); });
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImageWithProperties(cl_context context, const cl_mem_properties* properties,
                                                            cl_mem_flags flags, const cl_image_format* format,
                                                            const cl_image_desc* description, void* host_ptr,
                                                            cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    object<Context>(context);
    // "CL_INVALID_PROPERTY if a property name in properties is not a supported property name": none is
    // supported.
    require(properties == nullptr || *properties == 0, CL_INVALID_PROPERTY);
    std::vector<cl_mem_properties> list;
    if (properties != nullptr) list.push_back(0);
    return make_image(context, std::move(list), flags, format, description, host_ptr);
  });
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                                size_t width, size_t height, size_t row_pitch, void* host_ptr,
                                                cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    // "CL_INVALID_IMAGE_SIZE if image_width or image_height are 0 or ..., or if values specified in image_row_pitch do
    // not follow rules described in the argument description."
    require(width != 0 && height != 0, CL_INVALID_IMAGE_SIZE);
    cl_image_desc description{};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = width;
    description.image_height = height;
    description.image_row_pitch = row_pitch;
    try {
      return make_image(context, {}, flags, format, &description, host_ptr);
    } catch (const icd::ApiError& error) {
      throw icd::ApiError{error.code == CL_INVALID_IMAGE_DESCRIPTOR ? CL_INVALID_IMAGE_SIZE : error.code};
    }
  });
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                                size_t width, size_t height, size_t depth, size_t row_pitch,
                                                size_t slice_pitch, void* host_ptr, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    // "CL_INVALID_IMAGE_SIZE if image_width, image_height are 0 or if image_depth <= 1 or ..."
    require(width != 0 && height != 0 && depth > 1, CL_INVALID_IMAGE_SIZE);
    cl_image_desc description{};
    description.image_type = CL_MEM_OBJECT_IMAGE3D;
    description.image_width = width;
    description.image_height = height;
    description.image_depth = depth;
    description.image_row_pitch = row_pitch;
    description.image_slice_pitch = slice_pitch;
    try {
      return make_image(context, {}, flags, format, &description, host_ptr);
    } catch (const icd::ApiError& error) {
      throw icd::ApiError{error.code == CL_INVALID_IMAGE_DESCRIPTOR ? CL_INVALID_IMAGE_SIZE : error.code};
    }
  });
}

CL_API_ENTRY cl_int CL_API_CALL clGetSupportedImageFormats(cl_context context, cl_mem_flags flags,
                                                           cl_mem_object_type type, cl_uint num_entries,
                                                           cl_image_format* formats, cl_uint* num_formats) {
  return icd::enter([&] {
    Context& in = object<Context>(context);
    // "CL_INVALID_VALUE if flags or image_type are not valid, or if num_entries is 0 and image_formats is not NULL."
    require((flags &
             ~(icd::kAccessFlags | icd::kHostAccessFlags | icd::kHostPointerFlags | CL_MEM_KERNEL_READ_AND_WRITE)) == 0,
            CL_INVALID_VALUE);
    require(std::popcount(flags & icd::kAccessFlags) <= 1, CL_INVALID_VALUE);
    require(type >= CL_MEM_OBJECT_IMAGE2D && type <= CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_INVALID_VALUE);
    require(formats == nullptr || num_entries != 0, CL_INVALID_VALUE);
    const std::vector<cl_image_format> found = icd::context_formats(in, flags, type);
    if (formats != nullptr) {
      std::copy_n(found.begin(), std::min<std::size_t>(num_entries, found.size()), formats);
    }
    if (num_formats != nullptr) *num_formats = static_cast<cl_uint>(found.size());
  });
}

CL_API_ENTRY cl_int CL_API_CALL clGetImageInfo(cl_mem image, cl_image_info name, size_t size, void* value,
                                               size_t* size_ret) {
  return icd::enter([&] {
    MemoryObject& of = object<MemoryObject>(image);
    // "CL_INVALID_MEM_OBJECT if image is a not a valid image object."
    require(of.image() != nullptr, CL_INVALID_MEM_OBJECT);
    icd::answer(kImageInfo, of, name, InfoSink(size, value, size_ret), *of.image());
  });
}
