#pragma once

#include "runtime/protocol/messages/message.h"

// Programs and kernels.
namespace remotecl {

struct CreateProgramWithSource {
  REMOTECL_MESSAGE(CreateProgramWithSource);
  ObjectId program;
  Bytes source;
  REMOTECL_FIELDS(program, source)
};
struct CreateProgramWithBinary {
  REMOTECL_MESSAGE(CreateProgramWithBinary);
  ObjectId program;
  std::uint32_t device;
  Bytes binary;
  REMOTECL_FIELDS(program, device, binary)
};
// A file of the client's machine that the sources may include, under its absolute path there.
struct HeaderFile {
  std::string_view path;
  Bytes content;
  REMOTECL_FIELDS(path, content)
};
struct IncludeFolder {
  std::string_view path;
  REMOTECL_FIELDS(path)
};
struct BuildProgram {
  REMOTECL_MESSAGE(BuildProgram);
  ObjectId program;
  Token token;
  Array<std::uint32_t> devices;
  std::string_view options;  // the application's, without its -I
  Sequence<IncludeFolder> include_folders;
  Sequence<HeaderFile> headers;
  REMOTECL_FIELDS(program, token, devices, options, include_folders, headers)
};

enum class ArgumentKind : std::uint32_t { kValue = 0, kMemory = 1, kLocal = 2, kOther = 3, kImage = 4, kSampler = 5 };

struct ArgumentDescription {
  ArgumentKind kind;
  std::uint32_t size;        // bytes of a value argument, 0 when the driver does not tell
  std::int32_t info_status;  // what clGetKernelArgInfo answers natively: CL_SUCCESS or its error
  std::uint32_t address_qualifier;
  std::uint32_t access_qualifier;
  std::uint64_t type_qualifier;
  std::string_view type_name;
  std::string_view name;
  REMOTECL_FIELDS(kind, size, info_status, address_qualifier, access_qualifier, type_qualifier, type_name, name)
};
struct KernelDescription {
  std::string_view name;
  std::string_view attributes;
  std::uint64_t work_group_size;
  Extent compile_work_group_size;
  std::uint64_t local_memory_size;  // of the kernel itself, without its __local arguments
  std::uint64_t preferred_multiple;
  std::uint64_t private_memory_size;
  Sequence<ArgumentDescription> arguments;
  REMOTECL_FIELDS(name, attributes, work_group_size, compile_work_group_size, local_memory_size, preferred_multiple,
                  private_memory_size, arguments)
};
struct DeviceBuild {
  std::uint32_t device;
  std::int32_t error;   // what clBuildProgram answered for this device
  std::int32_t status;  // cl_build_status
  std::uint32_t binary_type;
  std::uint64_t binary_size;
  std::string_view log;
  Sequence<KernelDescription> kernels;
  REMOTECL_FIELDS(device, error, status, binary_type, binary_size, log, kernels)
};
struct BuildDone {
  REMOTECL_MESSAGE(BuildDone);
  Token token;
  Sequence<DeviceBuild> builds;
  REMOTECL_FIELDS(token, builds)
};
struct GetProgramBinary {
  REMOTECL_MESSAGE(GetProgramBinary);
  ObjectId program;
  std::uint32_t device;
  Token token;
  REMOTECL_FIELDS(program, device, token)
};
struct ProgramBinary {
  REMOTECL_MESSAGE(ProgramBinary);
  Token token;
  std::int32_t error;
  Bytes binary;
  REMOTECL_FIELDS(token, error, binary)
};
struct ReleaseProgram {
  REMOTECL_MESSAGE(ReleaseProgram);
  ObjectId program;
  REMOTECL_FIELDS(program)
};
struct CreateKernel {
  REMOTECL_MESSAGE(CreateKernel);
  ObjectId kernel;
  ObjectId program;
  std::string_view name;
  REMOTECL_FIELDS(kernel, program, name)
};
struct ReleaseKernel {
  REMOTECL_MESSAGE(ReleaseKernel);
  ObjectId kernel;
  REMOTECL_FIELDS(kernel)
};

}  // namespace remotecl
