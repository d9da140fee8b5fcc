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
// Adds a binary for another device to a program that was created with a binary.
struct AddProgramBinary {
  REMOTECL_MESSAGE(AddProgramBinary);
  ObjectId program;
  std::uint32_t device;
  Bytes binary;
  REMOTECL_FIELDS(program, device, binary)
};
struct CreateProgramWithIL {
  REMOTECL_MESSAGE(CreateProgramWithIL);
  ObjectId program;
  Bytes il;
  REMOTECL_FIELDS(program, il)
};
struct BuiltInKernels {
  std::uint32_t device;
  std::string_view names;  // separated by semicolons
  REMOTECL_FIELDS(device, names)
};
struct CreateProgramWithBuiltInKernels {
  REMOTECL_MESSAGE(CreateProgramWithBuiltInKernels);
  ObjectId program;
  Sequence<BuiltInKernels> kernels;
  REMOTECL_FIELDS(program, kernels)
};
// Sets a specialization constant for later builds on all devices. Answered by NativeAnswer with the result of
// `device`.
struct SpecializeProgram {
  REMOTECL_MESSAGE(SpecializeProgram);
  ObjectId program;
  Token token;
  std::uint32_t device;
  std::uint32_t constant;
  Bytes value;
  REMOTECL_FIELDS(program, token, device, constant, value)
};
// Answered by BuildDone with what the native driver knows before any build.
struct InspectProgram {
  REMOTECL_MESSAGE(InspectProgram);
  ObjectId program;
  Token token;
  Array<std::uint32_t> devices;
  REMOTECL_FIELDS(program, token, devices)
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
  std::string_view options;  // the application's, without its -I options
  Sequence<IncludeFolder> include_folders;
  Sequence<HeaderFile> headers;
  REMOTECL_FIELDS(program, token, devices, options, include_folders, headers)
};

// A program whose source another one may include, under the name given here.
struct IncludedProgram {
  ObjectId program;
  std::string_view name;
  REMOTECL_FIELDS(program, name)
};
// Like BuildProgram; answered by BuildDone.
struct CompileProgram {
  REMOTECL_MESSAGE(CompileProgram);
  ObjectId program;
  Token token;
  Array<std::uint32_t> devices;
  std::string_view options;
  Sequence<IncludeFolder> include_folders;
  Sequence<HeaderFile> headers;
  Sequence<IncludedProgram> included;
  REMOTECL_FIELDS(program, token, devices, options, include_folders, headers, included)
};
// Creates `program`; answered by BuildDone.
struct LinkProgram {
  REMOTECL_MESSAGE(LinkProgram);
  ObjectId program;
  Token token;
  Array<std::uint32_t> devices;
  std::string_view options;
  Array<ObjectId> inputs;
  REMOTECL_FIELDS(program, token, devices, options, inputs)
};

// kSvm: an argument that is declared as kMemory and set to an address of shared virtual memory.
enum class ArgumentKind : std::uint32_t {
  kValue = 0,
  kMemory = 1,
  kLocal = 2,
  kOther = 3,
  kImage = 4,
  kSampler = 5,
  kSvm = 16
};

struct ArgumentDescription {
  ArgumentKind kind;
  std::uint32_t size;        // bytes of a value argument; 0 if the driver does not say
  std::int32_t info_status;  // the native result of clGetKernelArgInfo: CL_SUCCESS or an error
  std::uint32_t address_qualifier;
  std::uint32_t access_qualifier;
  std::uint64_t type_qualifier;
  std::string_view type_name;
  std::string_view name;
  REMOTECL_FIELDS(kind, size, info_status, address_qualifier, access_qualifier, type_qualifier, type_name, name)
};
// Whether it may look like a value only because the driver says nothing about it: drivers accept 8 bytes for
// an image or a sampler and do not look at them before the kernel runs.
inline bool may_be_opaque(const ArgumentDescription& argument) {
  const bool is_described = argument.info_status == 0 || argument.address_qualifier != 0;
  return !is_described && argument.kind == ArgumentKind::kValue && (argument.size == 0 || argument.size == 8);
}

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
  std::int32_t error;        // the result of the native call for this device
  std::int32_t status;       // cl_build_status
  std::uint32_t executable;  // kernels can be created
  std::uint32_t binary_type;
  std::uint64_t global_variables_size;
  std::uint32_t has_constructors;
  std::uint32_t has_destructors;
  std::string_view log;
  Sequence<KernelDescription> kernels;
  REMOTECL_FIELDS(device, error, status, executable, binary_type, global_variables_size, has_constructors,
                  has_destructors, log, kernels)
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
enum class KernelQuery : std::uint32_t { kWorkGroup = 0, kSubGroup = 1 };

// A query that only the native driver can answer. The last parameters are those of the native call.
struct QueryKernel {
  REMOTECL_MESSAGE(QueryKernel);
  ObjectId kernel;
  std::uint32_t device;
  Token token;
  KernelQuery query;
  std::uint32_t name;
  Bytes input;              // empty: NULL
  std::uint32_t has_value;  // whether the value is wanted, or only its size
  std::uint64_t size;       // of the caller's memory
  REMOTECL_FIELDS(kernel, device, token, query, name, input, has_value, size)
};
struct NativeAnswer {
  REMOTECL_MESSAGE(NativeAnswer);
  Token token;
  std::int32_t error;
  std::uint64_t size;  // as returned by the native driver
  Bytes value;
  REMOTECL_FIELDS(token, error, size, value)
};
struct ReleaseKernel {
  REMOTECL_MESSAGE(ReleaseKernel);
  ObjectId kernel;
  REMOTECL_FIELDS(kernel)
};

}  // namespace remotecl
