#include "icd/command_names.h"

#include <CL/cl_ext.h>

namespace remotecl::icd {

const char* command_name(cl_command_type type) {
  switch (type) {
    case CL_COMMAND_NDRANGE_KERNEL:
    case CL_COMMAND_TASK:
      return "kernel";
    case CL_COMMAND_NATIVE_KERNEL:
      return "native kernel";
    case CL_COMMAND_READ_BUFFER:
    case CL_COMMAND_READ_BUFFER_RECT:
    case CL_COMMAND_READ_IMAGE:
      return "read";
    case CL_COMMAND_WRITE_BUFFER:
    case CL_COMMAND_WRITE_BUFFER_RECT:
    case CL_COMMAND_WRITE_IMAGE:
      return "write";
    case CL_COMMAND_COPY_BUFFER:
    case CL_COMMAND_COPY_BUFFER_RECT:
    case CL_COMMAND_COPY_IMAGE:
    case CL_COMMAND_COPY_IMAGE_TO_BUFFER:
    case CL_COMMAND_COPY_BUFFER_TO_IMAGE:
    case CL_COMMAND_SVM_MEMCPY:
      return "copy";
    case CL_COMMAND_FILL_BUFFER:
    case CL_COMMAND_FILL_IMAGE:
    case CL_COMMAND_SVM_MEMFILL:
      return "fill";
    case CL_COMMAND_MAP_BUFFER:
    case CL_COMMAND_MAP_IMAGE:
    case CL_COMMAND_SVM_MAP:
      return "map";
    case CL_COMMAND_UNMAP_MEM_OBJECT:
    case CL_COMMAND_SVM_UNMAP:
      return "unmap";
    case CL_COMMAND_MARKER:
      return "marker";
    case CL_COMMAND_BARRIER:
      return "barrier";
    case CL_COMMAND_MIGRATE_MEM_OBJECTS:
    case CL_COMMAND_SVM_MIGRATE_MEM:
      return "migrate";
    case CL_COMMAND_SVM_FREE:
      return "free";
    case CL_COMMAND_USER:
      return "user event";
    case CL_COMMAND_COMMAND_BUFFER_KHR:
      return "command buffer";
    default:
      return "command";
  }
}

}  // namespace remotecl::icd
