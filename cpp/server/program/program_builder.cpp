#include "server/program/program_builder.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "runtime/protocol/image_types.h"
#include "server/program/printf_search.h"
#include "server/program/stored_builds.h"

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

// `hides_arguments`: their details were requested by the server, not by the application.
std::vector<KernelRecord> inspect_kernels(cl_program program, cl_device_id device, bool hides_arguments = false) {
  std::vector<KernelRecord> records;
  cl_uint count = 0;
  if (clCreateKernelsInProgram(program, 0, nullptr, &count) != CL_SUCCESS || count == 0) return records;
  std::vector<cl_kernel> kernels(count);
  if (clCreateKernelsInProgram(program, count, kernels.data(), nullptr) != CL_SUCCESS) return records;
  for (const cl_kernel kernel : kernels) {
    records.push_back(inspect_kernel(kernel, device));
    if (hides_arguments) hide_arguments(records.back());
    clReleaseKernel(kernel);
  }
  return records;
}

// PoCL writes an included program to a file of that name below its own folder: no client may name a file
// elsewhere.
bool leaves_folder(const std::string& name) {
  const std::filesystem::path path(name);
  return std::find(path.begin(), path.end(), "..") != path.end();
}

template <class T>
T program_number(cl_program program, cl_program_info name) {
  T value{};
  return clGetProgramInfo(program, name, sizeof value, &value, nullptr) == CL_SUCCESS ? value : T{};
}

template <class T>
T build_number(cl_program program, cl_device_id device, cl_program_build_info name) {
  T value{};
  return clGetProgramBuildInfo(program, device, name, sizeof value, &value, nullptr) == CL_SUCCESS ? value : T{};
}

}  // namespace

bool asks_for_arguments(const Device& device, const std::string& options) {
  return device.traits().quirks.needs_request_for_arguments && options.find(kArgumentInfo) == std::string::npos;
}

cl_program_binary_type binary_type(cl_program program, cl_device_id device) {
  return build_number<cl_program_binary_type>(program, device, CL_PROGRAM_BINARY_TYPE);
}

cl_int read_binary(cl_program program, std::vector<std::byte>& binary) {
  std::size_t size = 0;
  cl_int error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  if (error != CL_SUCCESS) return error;
  if (size > kProgramSizeMax) return CL_OUT_OF_RESOURCES;
  binary.resize(size);
  std::byte* to = binary.data();
  return size == 0 ? CL_SUCCESS : clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr);
}

BuildRecord& BuildReport::begin(const Device& device) {
  BuildRecord& record = records_.emplace_back();
  asides_.emplace_back();
  record.values = {};
  record.values.device = device.index();
  record.values.status = CL_BUILD_ERROR;
  return record;
}

// Called after the native call, whose result is in the record. Does not query the size of the binary: PoCL
// makes the binary for that, which takes long, and ends the process if it cannot.
void BuildReport::finish(BuildRecord& record, cl_program native, const Device& device, const WrittenFiles* files) {
  if (native == nullptr) return;
  DeviceBuild& values = record.values;
  const cl_device_id id = device.id();
  cl_build_status status = values.error == CL_SUCCESS ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
  if (values.error == CL_SUCCESS) {
    clGetProgramBuildInfo(native, id, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, nullptr);
  }
  values.status = status;
  record.log = build_log(native, id);
  if (files != nullptr) record.log = files->client_log(std::move(record.log));
  if (status != CL_BUILD_SUCCESS) return;
  values.binary_type = binary_type(native, id);
}

void BuildReport::finish_executable(BuildRecord& record, cl_program native, const Device& device,
                                    bool hides_arguments) {
  DeviceBuild& values = record.values;
  values.executable = 1;
  if (device.traits().version >= 20) {
    values.global_variables_size =
        build_number<std::size_t>(native, device.id(), CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE);
  }
  if (device.traits().version >= 22) {
    values.has_constructors = program_number<cl_bool>(native, CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT);
    values.has_destructors = program_number<cl_bool>(native, CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT);
  }
  record.kernels = inspect_kernels(native, device.id(), hides_arguments);
}

cl_program BuildReport::compile(const Program& program, Device& device, const WrittenFiles& files,
                                const std::vector<IncludedSource>& included, StoredBuilds& store,
                                const StoredRequest& stored) {
  BuildRecord& record = begin(device);
  std::optional<Digest> key;
  if (store.has_store()) key = store.object_key(program, stored.sent, included, device);
  std::vector<std::byte> binary;
  cl_program native = nullptr;
  if (key) {
    native =
        store.load_part(store.find(stored.owner, *key), device, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, record, binary);
  }
  if (native == nullptr) {
    native = compile_object(record, program, device, files, included);
    keep(store, stored.owner, key, device, native);
  }
  note_part(key, std::move(binary));
  return native;
}

cl_program BuildReport::compile_object(BuildRecord& record, const Program& program, Device& device,
                                       const WrittenFiles& files, const std::vector<IncludedSource>& included) {
  cl_program native = nullptr;
  record.values.error = program.make(device, native, files.source());
  std::vector<cl_program> headers;
  std::vector<const char*> names;
  for (const IncludedSource& source : included) {
    cl_program header = nullptr;
    if (record.values.error == CL_SUCCESS && leaves_folder(source.name)) record.values.error = CL_INVALID_VALUE;
    if (record.values.error == CL_SUCCESS) record.values.error = source.program->make(device, header, source.source);
    if (header != nullptr) headers.push_back(header);
    names.push_back(source.name.c_str());
  }
  if (record.values.error == CL_SUCCESS) {
    const cl_device_id id = device.id();
    const bool includes = !headers.empty();
    record.values.error =
        clCompileProgram(native, 1, &id, files.options().c_str(), static_cast<cl_uint>(headers.size()),
                         includes ? headers.data() : nullptr, includes ? names.data() : nullptr, nullptr, nullptr);
    record.prints =
        record.values.error == CL_SUCCESS && program.may_print() &&
        compiler_finds_printf(device, files.source().value_or(program.code()), files.options(), headers, names);
  }
  for (const cl_program header : headers) clReleaseProgram(header);
  finish(record, native, device, &files);
  return native;
}

cl_program BuildReport::link(Device& device, const std::string& options, const std::vector<LinkInput>& inputs,
                             StoredBuilds& store, const std::string& owner, const std::function<FileLock()>& lock) {
  BuildRecord& record = begin(device);
  const cl_context context = device.context(record.values.error);
  if (context == nullptr) return nullptr;
  std::vector<cl_program> programs;
  std::vector<std::optional<Digest>> keys;
  for (const LinkInput& input : inputs) {
    // "CL_INVALID_OPERATION if the rules for devices containing compiled binaries or libraries as described in
    // input_programs argument are not followed."
    if (!input.program) record.values.error = CL_INVALID_OPERATION;
    programs.push_back(input.program.get());
    keys.push_back(input.key);
  }
  if (record.values.error != CL_SUCCESS) return nullptr;
  const bool is_library = options.find("-create-library") != std::string::npos;
  const bool asks = asks_for_arguments(device, options) && !is_library;
  const std::string all_options = asks ? options + " " + kArgumentInfo : options;
  std::optional<Digest> key;
  if (store.has_store()) key = store.link_key(options, keys, device);
  std::vector<std::byte> binary;
  cl_program native = nullptr;
  if (key) {
    const std::vector<std::byte> entry = store.find(owner, *key);
    native = is_library ? store.load_part(entry, device, CL_PROGRAM_BINARY_TYPE_LIBRARY, record, binary)
                        : store.load(entry, device, all_options, record);
  }
  if (native == nullptr) {
    {
      const FileLock alone = lock();
      const cl_device_id id = device.id();
      const auto link_with = [&](const std::string& all) {
        native = clLinkProgram(context, 1, &id, all.c_str(), static_cast<cl_uint>(programs.size()),
                               programs.empty() ? nullptr : programs.data(), nullptr, nullptr, &record.values.error);
      };
      link_with(all_options);
      if (record.values.error != CL_SUCCESS && asks && device.traits().quirks.rejects_request_for_arguments) {
        if (native != nullptr) clReleaseProgram(native);
        link_with(options);
      }
    }
    finish(record, native, device, nullptr);
    // PoCL keeps the program of a failed link to itself, and the log with it.
    if (record.values.error == CL_LINK_PROGRAM_FAILURE && record.log.empty()) {
      record.log = "remotecl: the driver does not say why it could not link";
    }
    if (native != nullptr && record.values.binary_type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE) {
      finish_executable(record, native, device, asks);
    }
    keep(store, owner, key, device, native);
  }
  note_part(key, std::move(binary));
  return native;
}

cl_program BuildReport::inspect(const Program& program, Device& device, const StoredBuilds& store) {
  BuildRecord& record = begin(device);
  cl_program native = nullptr;
  record.values.error = program.make(device, native);
  if (native == nullptr) return nullptr;
  record.values.status = CL_BUILD_NONE;
  if (program.origin() == ProgramOrigin::kBuiltInKernels) {
    record.kernels = inspect_kernels(native, device.id());
    record.values.executable = record.kernels.empty() ? 0 : 1;
    return native;
  }
  record.values.binary_type = binary_type(native, device.id());
  if (program.origin() == ProgramOrigin::kBinaries && store.has_store()) {
    asides_.back().part = {StoredBuilds::binary_key(program.code(device)), {}};
  }
  return native;
}

cl_program BuildReport::refuse(const Device& device, cl_int error, std::string_view log) {
  BuildRecord& record = begin(device);
  record.values.error = error;
  record.log = log;
  return nullptr;
}

cl_program BuildReport::accept_recipe(const Device& device, cl_program_binary_type type) {
  BuildRecord& record = begin(device);
  record.values.status = CL_BUILD_NONE;
  record.values.binary_type = type;
  return nullptr;
}

bool BuildReport::succeeded() const {
  const DeviceBuild& values = records_.back().values;
  return values.error == CL_SUCCESS && values.status == CL_BUILD_SUCCESS;
}

void BuildReport::append(BuildReport&& other) {
  std::move(other.records_.begin(), other.records_.end(), std::back_inserter(records_));
  std::move(other.asides_.begin(), other.asides_.end(), std::back_inserter(asides_));
}

bool BuildReport::prints() const {
  return std::any_of(records_.begin(), records_.end(), [](const BuildRecord& record) { return record.prints; });
}

ProgramTraits BuildReport::traits(std::size_t index) const {
  ProgramTraits all;
  for (const KernelRecord& kernel : records_[index].kernels) {
    KernelTraits& traits = all[kernel.name];
    traits.local_memory_size = kernel.values.local_memory_size;
    for (const auto& argument : kernel.arguments) {
      traits.arguments.push_back(
          {argument.values.kind, may_be_opaque(argument.values), image_type_of(argument.type_name)});
    }
  }
  return all;
}

void BuildReport::send(Outbox& outbox, Token token) const {
  const BuildDescriptions descriptions(records_);
  outbox.send(BuildDone{token, std::span<const DeviceBuild>(descriptions.builds())});
}

}  // namespace remotecl::server
