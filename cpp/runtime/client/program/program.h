#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/objects/context.h"
#include "runtime/client/objects/handle.h"
#include "runtime/client/program/recipes.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

struct ArgumentInfo {
  ArgumentKind kind = ArgumentKind::kValue;
  bool may_be_opaque = false;  // a value as far as the driver says, but perhaps an image or a sampler
  std::uint32_t size = 0;      // of a value; 0: unknown
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

// The result of a build, compilation or link on one device.
struct DeviceBuildInfo {
  cl_build_status status = CL_BUILD_NONE;
  cl_int error = CL_SUCCESS;
  bool executable = false;  // kernels can be created
  std::string options;
  std::string log;
  cl_program_binary_type binary_type = CL_PROGRAM_BINARY_TYPE_NONE;
  std::size_t global_variables_size = 0;
  bool allows_remainder = true;
  bool has_constructors = false;
  bool has_destructors = false;
  std::map<std::string, KernelInfo> kernels;
  // Set once it was asked for, or as a recipe when the build begins. It must not change afterwards: the caller has been
  // told its size, and has no room for more.
  std::shared_ptr<const std::vector<std::byte>> binary;
};

enum class ProgramOrigin { kSource, kBinaries, kIl, kBuiltInKernels, kLink };

// The origin of a program.
struct ProgramCode {
  ProgramOrigin origin = ProgramOrigin::kSource;
  std::string text;  // source or IL
  // For each device: the native binary or a recipe, or the names of built-in kernels.
  std::vector<std::vector<std::byte>> parts;
  std::vector<std::map<std::string, KernelInfo>> contained;  // for each device: what our binary says of its kernels
};

// A program. Builds run on the servers of its devices. Any thread.
class Program final : public Handle<_cl_program, HandleTag::kProgram, CL_INVALID_PROGRAM> {
 public:
  using Callback = void(CL_CALLBACK*)(cl_program, void*);

  // A program that another one may include, under this name.
  struct Included {
    Ref<Program> program;
    std::string name;
  };

  // `devices`: those that the application named, with members in place of an automatic device. `named`: as it named
  // them, if there is one.
  Program(Ref<Context> context, std::vector<Device*> devices, ProgramCode code, const std::vector<Device*>& named = {});

  Context& context() const { return *context_; }
  ObjectId id() const { return id_; }
  const std::vector<Device*>& devices() const { return devices_; }
  const std::vector<Device*>& named_devices() const { return named_devices_; }
  const ProgramCode& code() const { return code_; }
  // Empty for a program that is not made of source.
  std::string_view source_text() const {
    return code_.origin == ProgramOrigin::kSource ? std::string_view(code_.text) : std::string_view();
  }

  // Builds on the servers of `devices`, which the application named: blocks or, if `notify` has a callback, calls back.
  // Returns CL_SUCCESS, the native driver's error, CL_INVALID_OPERATION (a build is running, or kernels exist),
  // CL_DEVICE_NOT_AVAILABLE, ... For an automatic device it is enough that one of its members succeeds. A lost device
  // fails by itself, unless all are lost.
  struct Notify {
    Callback callback = nullptr;
    void* user_data = nullptr;
  };
  cl_int build(const std::vector<Device*>& devices, const std::string& options, Notify notify);
  cl_int compile(const std::vector<Device*>& devices, const std::string& options, std::vector<Included> included,
                 Notify notify);
  // Links the others into this program, which has no code of its own.
  cl_int link(const std::vector<Device*>& devices, const std::string& options, std::vector<Ref<Program>> inputs,
              Notify notify);
  // Asks whether the native drivers accept a new program, and what they know of it; blocks.
  cl_int inspect(const std::vector<Device*>& devices);
  // Sets a constant of an IL program for later builds; asks the servers of the devices that take IL.
  cl_int specialize(cl_uint constant, Bytes value);

  // For an automatic device, these return what all members have for which the program was built.
  DeviceBuildInfo build_info(const Device& device) const;  // a copy, because a build may be running
  bool built(const Device& device) const;
  // The same, after the device's server has received what was deferred; blocks. For operations that need the
  // server's own program.
  bool ready_on(const Device& device);
  // Whether the last work-groups of a range may be smaller than others. That depends on the language version
  // that the program was built for and on its options. True if unknown.
  bool allows_remainder(const Device& device) const;
  // The kernel's info on the first device for which it was built; nullopt if it exists nowhere. `device`
  // null: any.
  std::optional<KernelInfo> kernel_info(const std::string& name, const Device* device) const;
  bool any_built() const;
  // A variable at program scope has a value for each device, so what uses it has to stay on one member of an automatic
  // device. has_variables(): whether some driver has found such a variable. keeper(): the member that all kernels run
  // on, null until there is one. keep_on(): makes `device` that member; returns false if it is another one.
  bool has_variables() const { return has_variables_.load(std::memory_order_relaxed); }
  Device* keeper() const { return keeper_.load(); }
  bool keep_on(Device& device) {
    Device* former = nullptr;
    return keeper_.compare_exchange_strong(former, &device) || former == &device;
  }
  // The sorted names of the kernels of the first device that the program was built for.
  std::vector<std::string> kernel_names() const;

  // The binary for a device, as BinaryContainer describes; asks the server. Empty if it was not built for the
  // device. For a lost device, that of a device like it: programs keep binaries for later, by what a device is.
  cl_int binary(Device& device, std::vector<std::byte>& binary);
  // The application learns these sizes of all binaries, and makes room for no more.
  void tell_sizes(std::vector<std::size_t> sizes) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    told_sizes_ = std::move(sizes);
  }
  // False if it was told others, which a server that answers differently each time, or a build since then, can cause.
  bool has_told(const std::vector<std::size_t>& sizes) const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return told_sizes_.empty() || told_sizes_ == sizes;
  }

  void kernel_attached(int change) { kernels_.fetch_add(change); }
  int attached_kernels() const { return kernels_.load(); }
  // Creates the program on the server of `session`, once.
  void create_on(Session& session);

 private:
  // A call of the native driver for each of some devices.
  struct Build {
    std::vector<Device*> devices;
    std::string options;
    Notify notify;
    bool allows_remainder;
    cl_int failure;                  // used for a device that failed without an error of its own
    std::vector<Ref<Program>> uses;  // other programs, kept until the servers have answered
    bool is_late = false;            // it was deferred, so kernels may exist already
    std::string objection{};         // why it cannot be sent, for the log
    Recipes recipes{};
  };
  // A binary that the server gets only when it needs it. This is done for binaries that we packed ourselves,
  // which are very likely valid.
  struct PutOff {
    std::vector<Device*> built;  // as the application was told
    std::string options;
    bool allows_remainder = true;
  };
  struct Progress;
  ~Program() override;
  // Calls send(session, token, indices of its devices) for each server, which sends the message.
  template <class Send>
  cl_int run(Build build, Send&& send);
  cl_int build_now(Build build);
  // Defers what can be deferred; returns the devices for which it cannot.
  std::vector<Device*> inspected_now(const std::vector<Device*>& devices);
  std::vector<Device*> built_now(const std::vector<Device*>& devices, const std::string& options);
  void make_up_for(Session& session);
  bool is_put_off(const Device& device) const;
  // The devices of the program that these stand for.
  std::vector<Device*> in_place_of(const std::vector<Device*>& named) const;
  bool is_named(const Device* device) const;
  DeviceBuildInfo joint_build_info(const Device& automatic) const;
  std::optional<KernelInfo> joint_kernel_info(const std::string& name, const Device& automatic) const;
  cl_int bundle(const Device& automatic, std::vector<std::byte>& binary);
  bool allows_remainder_by(const std::string& options) const;
  static bool are_alike(const Device& one, const Device& other);
  cl_int binary_of_alike(const Device& lost, std::vector<std::byte>& binary);
  cl_int result_of(const Build& build) const;
  // Of parts for each device of the binaries that the program was created with; null: it was made otherwise.
  template <class Part>
  const Part* part_for(const std::vector<Part>& parts, const Device& device) const;
  // The binary or recipe for the device that the program was created with; null if there is none.
  const std::vector<std::byte>* given(const Device& device) const;
  // The recipe of what was built last, or of what the program was created with; null if there is none.
  std::shared_ptr<const std::vector<std::byte>> recipe(const Device& device) const;
  // For the devices of a build or a compilation of source or IL; others have none.
  Recipes recipes_of(const std::vector<Device*>& devices, ProgramRecipe recipe) const;
  static Recipes recipes_of_link(const std::vector<Device*>& devices, const std::string& options,
                                 const std::vector<Ref<Program>>& inputs);
  // The kernels that the device's binary describes; null if the program was not created from our own binaries.
  const std::map<std::string, KernelInfo>* contained(const Device& device) const;
  void store(Session& session, const std::vector<Device*>& devices, const Bytes* payload) REQUIRES(mutex_);

  const Ref<Context> context_;
  const std::vector<Device*> devices_;
  const std::vector<Device*> named_devices_;
  const ProgramCode code_;
  const ObjectId id_ = next_id();
  std::atomic<int> kernels_{0};
  mutable Mutex mutex_;
  IndexSet created_on_ GUARDED_BY(mutex_);    // the indices of sessions
  unsigned building_ GUARDED_BY(mutex_) = 0;  // calls in progress
  std::map<const Device*, DeviceBuildInfo> builds_ GUARDED_BY(mutex_);
  std::map<cl_uint, std::vector<std::byte>> constants_ GUARDED_BY(mutex_);
  std::vector<std::size_t> told_sizes_ GUARDED_BY(mutex_);  // empty: none were asked for
  std::map<Session*, PutOff> put_off_ GUARDED_BY(mutex_);
  std::atomic<bool> has_put_off_{false};
  std::atomic<bool> has_variables_{false};
  std::atomic<Device*> keeper_{nullptr};
};

}  // namespace remotecl
