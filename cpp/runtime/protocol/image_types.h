#pragma once

#include <CL/cl.h>

#include <string_view>

namespace remotecl {

// The image type that an argument with this declared type, such as "image2d_array_t", accepts; 0 for any.
inline cl_mem_object_type image_type_of(std::string_view type_name) {
  const auto is = [type_name](std::string_view begin) { return type_name.starts_with(begin); };
  if (is("image1d_buffer_")) return CL_MEM_OBJECT_IMAGE1D_BUFFER;
  if (is("image1d_array_")) return CL_MEM_OBJECT_IMAGE1D_ARRAY;
  if (is("image2d_array_")) return CL_MEM_OBJECT_IMAGE2D_ARRAY;
  if (is("image1d_")) return CL_MEM_OBJECT_IMAGE1D;
  if (is("image2d_")) return CL_MEM_OBJECT_IMAGE2D;
  if (is("image3d_")) return CL_MEM_OBJECT_IMAGE3D;
  return 0;
}

}  // namespace remotecl
