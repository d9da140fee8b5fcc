#include "server/build.h"

namespace remotecl::server {
namespace {

constexpr std::size_t kLogSizeMax = 8u << 20;

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t size = 0;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string log(size, '\0');
  if (size != 0) clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  while (!log.empty() && log.back() == '\0') log.pop_back();
  if (log.size() > kLogSizeMax) log.resize(kLogSizeMax);
  return log;
}

std::vector<KernelRecord> inspect_kernels(cl_program program, cl_device_id device) {
  std::vector<KernelRecord> records;
  cl_uint count = 0;
  if (clCreateKernelsInProgram(program, 0, nullptr, &count) != CL_SUCCESS || count == 0) return records;
  std::vector<cl_kernel> kernels(count);
  if (clCreateKernelsInProgram(program, count, kernels.data(), nullptr) != CL_SUCCESS) return records;
  for (const cl_kernel kernel : kernels) {
    records.push_back(inspect_kernel(kernel, device));
    clReleaseKernel(kernel);
  }
  return records;
}

}  // namespace

cl_int read_binary(cl_program program, std::vector<std::byte>& binary) {
  std::size_t size = 0;
  cl_int error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  if (error != CL_SUCCESS) return error;
  if (size > kMessageSizeMax - 64) return CL_OUT_OF_RESOURCES;
  binary.resize(size);
  std::byte* to = binary.data();
  return size == 0 ? CL_SUCCESS : clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr);
}

cl_program BuildReport::build(const Program& program, Device& device, const PlacedFiles& files) {
  Record& record = records_.emplace_back();
  record.values = {};
  record.values.device = device.index();
  record.values.status = CL_BUILD_ERROR;
  cl_program native = nullptr;
  record.values.error = program.make(device, native);
  if (native == nullptr) return nullptr;
  const cl_device_id id = device.id();
  record.values.error = clBuildProgram(native, 1, &id, files.options().c_str(), nullptr, nullptr);
  cl_build_status status = record.values.error == CL_SUCCESS ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
  if (record.values.error == CL_SUCCESS) {
    clGetProgramBuildInfo(native, id, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, nullptr);
  }
  record.values.status = status;
  record.log = files.client_log(build_log(native, id));
  if (status != CL_BUILD_SUCCESS) return native;
  cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
  clGetProgramBuildInfo(native, id, CL_PROGRAM_BINARY_TYPE, sizeof type, &type, nullptr);
  record.values.binary_type = type;
  std::size_t size = 0;
  clGetProgramInfo(native, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  record.values.binary_size = size;
  record.kernels = inspect_kernels(native, id);
  return native;
}

void BuildReport::send(Outbox& outbox, Token token) const {
  // Views into records_, innermost first; the outer vectors are complete before a span of them is taken.
  std::vector<std::vector<std::vector<ArgumentDescription>>> arguments(records_.size());
  std::vector<std::vector<KernelDescription>> kernels(records_.size());
  std::vector<DeviceBuild> builds;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[i];
    arguments[i].resize(record.kernels.size());
    for (std::size_t k = 0; k < record.kernels.size(); ++k) {
      const KernelRecord& kernel = record.kernels[k];
      for (const auto& argument : kernel.arguments) {
        ArgumentDescription& description = arguments[i][k].emplace_back(argument.values);
        description.type_name = argument.type_name;
        description.name = argument.name;
      }
      KernelDescription& description = kernels[i].emplace_back(kernel.values);
      description.name = kernel.name;
      description.attributes = kernel.attributes;
      description.arguments = std::span<const ArgumentDescription>(arguments[i][k]);
    }
    DeviceBuild& build = builds.emplace_back(record.values);
    build.log = record.log;
    build.kernels = std::span<const KernelDescription>(kernels[i]);
  }
  outbox.send(BuildDone{token, std::span<const DeviceBuild>(builds)});
}

}  // namespace remotecl::server
