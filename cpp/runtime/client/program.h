#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/client/context.h"
#include "runtime/client/handle.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

struct ArgumentInfo {
  ArgumentKind kind = ArgumentKind::kValue;
  std::uint32_t size = 0;  // of a value, 0 unknown
  cl_int info_status = CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
  cl_kernel_arg_address_qualifier address = 0;
  cl_kernel_arg_access_qualifier access = 0;
  cl_kernel_arg_type_qualifier type_qualifier = 0;
  std::string type_name;
  std::string name;
};

struct KernelInfo {
  std::string name;
  std::string attributes;
  std::size_t work_group_size = 0;
  std::array<std::size_t, 3> compile_work_group_size{};
  cl_ulong local_memory_size = 0;
  std::size_t preferred_multiple = 0;
  cl_ulong private_memory_size = 0;
  std::vector<ArgumentInfo> arguments;
};

// What a build on one device gave.
struct DeviceBuildInfo {
  cl_build_status status = CL_BUILD_NONE;
  cl_int error = CL_SUCCESS;
  std::string options;
  std::string log;
  cl_program_binary_type binary_type = CL_PROGRAM_BINARY_TYPE_NONE;
  std::size_t binary_size = 0;
  std::map<std::string, KernelInfo> kernels;
};

// A program; builds run on the servers of its devices. Any thread.
class Program final : public Handle<_cl_program, HandleTag::kProgram, CL_INVALID_PROGRAM> {
 public:
  using Callback = void(CL_CALLBACK*)(cl_program, void*);

  Program(Ref<Context> context, std::string source);
  // From binaries, one for each of `devices`.
  Program(Ref<Context> context, std::vector<Device*> devices, std::vector<std::vector<std::byte>> binaries);

  Context& context() const { return *context_; }
  ObjectId id() const { return id_; }
  const std::vector<Device*>& devices() const { return devices_; }
  const std::string& source() const { return source_; }
  bool from_source() const { return binaries_.empty(); }

  // Builds for `devices`; blocks, or calls back when `callback` is given. CL_SUCCESS, CL_BUILD_PROGRAM_FAILURE,
  // CL_INVALID_BUILD_OPTIONS, CL_INVALID_OPERATION (a build is running, kernels exist), CL_DEVICE_NOT_AVAILABLE, ...
  cl_int build(const std::vector<Device*>& devices, const std::string& options, Callback callback, void* user_data);

  DeviceBuildInfo build_info(const Device& device) const;  // a copy: a build may be running
  bool built(const Device& device) const;
  // The kernel's info on the first device where it was built; nullopt when it exists nowhere. `device` null: any.
  std::optional<KernelInfo> kernel_info(const std::string& name, const Device* device) const;
  bool any_built() const;
  // Names of the kernels of the first built device, sorted.
  std::vector<std::string> kernel_names() const;

  // Native binary for a device; asks the server. Empty when not built there.
  cl_int binary(Device& device, std::vector<std::byte>& binary);

  void kernel_attached(int change) { kernels_.fetch_add(change); }
  int attached_kernels() const { return kernels_.load(); }
  // Makes the server of `session` know the program.
  void create_on(Session& session);

 private:
  struct Build;
  ~Program() override;
  void store(Session& session, const std::vector<Device*>& devices, const Bytes* payload);

  const Ref<Context> context_;
  const std::vector<Device*> devices_;
  const std::string source_;
  const std::vector<std::vector<std::byte>> binaries_;  // parallel to devices_, or empty
  const ObjectId id_ = next_id();
  std::atomic<int> kernels_{0};
  mutable std::mutex mutex_;
  std::uint64_t created_on_ = 0;  // bit per session
  bool building_ = false;
  std::map<const Device*, DeviceBuildInfo> builds_;
};

}  // namespace remotecl
