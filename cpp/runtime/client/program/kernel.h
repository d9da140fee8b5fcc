#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/objects/memory_object.h"
#include "runtime/client/objects/sampler.h"
#include "runtime/client/program/program.h"

namespace remotecl {

// A kernel and its arguments, which are kept here and sent with the next command that needs them. Any thread
// may enqueue it. OpenCL does not allow the application to set arguments from two threads at once.
class Kernel final : public Handle<_cl_kernel, HandleTag::kKernel, CL_INVALID_KERNEL> {
 public:
  Kernel(Ref<Program> program, KernelInfo info);
  // clCloneKernel: a copy with the same arguments.
  explicit Kernel(Kernel& other);

  Program& program() const { return *program_; }
  Context& context() const { return program_->context(); }
  ObjectId id() const { return id_; }
  const KernelInfo& info() const { return info_; }  // from the first device it was built for: names and arguments
  // With the work-group limits of one device.
  const KernelInfo& info_on(const Device& device);
  // The largest work-group that the device has launched although it exceeds the reported limit; 0: none.
  std::size_t launched_group(const Device& device);
  // The placement's number for it; kNotPlaced until it has been placed.
  static constexpr std::uint32_t kNotPlaced = ~std::uint32_t{0};
  std::atomic<std::uint32_t>& placement_id() { return placement_id_; }
  void set_launched_group(const Device& device, std::size_t size);

  // Asks the native driver of `device`, with the last parameters of the native call; blocks. Of an automatic device the
  // answer holds on all members that have the kernel and whose servers are there.
  cl_int query(Device& device, KernelQuery query, cl_uint name, Bytes input, std::size_t size, void* value,
               std::size_t* size_ret);

  // `size` and `value` as for clSetKernelArg. May return CL_INVALID_ARG_INDEX, _ARG_VALUE, _ARG_SIZE,
  // CL_INVALID_MEM_OBJECT, CL_INVALID_SAMPLER.
  cl_int set_argument(cl_uint index, std::size_t size, const void* value);
  // A pointer to shared virtual memory, as for clSetKernelArgSVMPointer. May return CL_INVALID_ARG_INDEX,
  // _ARG_VALUE.
  cl_int set_svm_argument(cl_uint index, const void* pointer);
  // The shared virtual memory that its commands may access besides their arguments.
  void set_svm_pointers(std::vector<void*> pointers, std::vector<Ref<MemoryObject>> memory);
  bool arguments_complete();
  bool takes_local_memory() const { return takes_local_memory_; }  // as an argument
  // The bytes of __local arguments set so far; saturates at the largest number.
  cl_ulong local_argument_bytes();

  struct Argument {
    bool set = false;
    ArgumentKind kind = ArgumentKind::kValue;
    std::vector<std::byte> value;
    std::uint64_t number = 0;  // size of local memory; address in shared virtual memory
    // Empty for a NULL pointer. "Implementations shall not allow cl_kernel objects to hold reference counts
    // to cl_kernel arguments".
    WeakMemory memory;  // a buffer or image
    Ref<Sampler> sampler;
    std::uint64_t version = 0;
  };
  // For the command that is being sent.
  Mutex& mutex() RETURN_CAPABILITY(mutex_) { return mutex_; }
  std::vector<Argument>& arguments() REQUIRES(mutex_) { return arguments_; }
  // The versions last sent to `device`, which the sender updates.
  std::vector<std::uint64_t>& sent_versions(const Device& device) REQUIRES(mutex_);
  const std::vector<Ref<MemoryObject>>& svm_memory() const REQUIRES(mutex_) { return svm_memory_; }
  // Sends the server the part of svm_memory() that it does not know yet.
  void send_svm_pointers(Session& session) REQUIRES(mutex_);
  void create_on(Session& session) REQUIRES(mutex_);
  // Whether the kernel may write through this argument.
  bool may_write(std::size_t index) const REQUIRES(mutex_);

 private:
  ~Kernel() override;
  cl_int query_members(Device& automatic, KernelQuery query, cl_uint name, Bytes input, std::size_t size, void* value,
                       std::size_t* size_ret);
  cl_int find_memory(const ArgumentInfo& info, ArgumentKind kind, std::size_t size, const void* value,
                     MemoryObject*& memory) const;
  cl_int find_sampler(std::size_t size, const void* value, Sampler*& sampler) const;

  const Ref<Program> program_;
  const KernelInfo info_;
  const bool takes_local_memory_;
  const ObjectId id_ = next_id();
  std::atomic<std::uint32_t> placement_id_{kNotPlaced};
  Mutex mutex_;
  std::vector<Argument> arguments_ GUARDED_BY(mutex_);
  std::uint64_t last_version_ GUARDED_BY(mutex_) = 0;
  std::map<const Device*, std::vector<std::uint64_t>> sent_ GUARDED_BY(mutex_);
  std::map<const Device*, KernelInfo> per_device_ GUARDED_BY(mutex_);
  std::map<const Device*, std::size_t> launched_groups_ GUARDED_BY(mutex_);
  IndexSet created_on_ GUARDED_BY(mutex_);  // the indices of sessions
  std::vector<void*> svm_pointers_ GUARDED_BY(mutex_);
  std::vector<Ref<MemoryObject>> svm_memory_ GUARDED_BY(mutex_);  // one for each pointer
  bool has_svm_pointers_ GUARDED_BY(mutex_) = false;              // set at least once
  IndexSet svm_sent_ GUARDED_BY(mutex_);                          // the indices of sessions that know them
};

}  // namespace remotecl
