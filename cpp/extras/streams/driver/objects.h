#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "extras/streams/instance/catalogue.h"
#include "extras/streams/instance/instance.h"
#include "runtime/base/mutex.h"

// OpenCL's objects, as this driver has them. Its caller is the daemon, which has checked handles and ranges; what a
// plugin answers is checked here. The state of commands is under one lock, which nobody holds during work.
namespace remotecl::plugins {

extern Mutex state_mutex;

// The loader's dispatch table; each object begins with it.
const void* dispatch_table();

struct Object {
  const void* const dispatch = dispatch_table();
  std::atomic<int> references{1};
};

template <class T>
T* retain(T* object) {
  if (object != nullptr) ++object->references;
  return object;
}
template <class T>
void release(T* object) {
  if (object != nullptr && --object->references == 0) delete object;
}

// Owns a reference.
template <class T>
class Held {
 public:
  Held() = default;
  explicit Held(T* object) : object_(retain(object)) {}
  Held(const Held& other) : object_(retain(other.object_)) {}
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() { release(object_); }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

// Answers to clGet...Info.
cl_int answer_bytes(const void* bytes, std::size_t count, std::size_t size, void* to, std::size_t* size_ret);
template <class T>
cl_int answer(const T& value, std::size_t size, void* to, std::size_t* size_ret) {
  return answer_bytes(&value, sizeof value, size, to, size_ret);
}
inline cl_int answer_text(const std::string& text, std::size_t size, void* to, std::size_t* size_ret) {
  return answer_bytes(text.c_str(), text.size() + 1, size, to, size_ret);
}
template <class T>
T* failed(cl_int error, cl_int* error_ret) {
  if (error_ret != nullptr) *error_ret = error;
  return nullptr;
}
template <class T>
T* made(T* object, cl_int* error_ret) {
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return object;
}

struct Command;

// remotecl.error, which every device has: writes why the program's last failed call failed. The plugin does not see it.
const KernelDescription& error_kernel();

}  // namespace remotecl::plugins

struct _cl_platform_id {
  explicit _cl_platform_id(remotecl::plugins::PluginSettings settings);
  const void* const dispatch = remotecl::plugins::dispatch_table();
  remotecl::plugins::Catalogue catalogue;
  std::vector<std::unique_ptr<_cl_device_id>> devices;
};

struct _cl_device_id {
  const void* const dispatch = remotecl::plugins::dispatch_table();
  cl_platform_id platform;
  const remotecl::plugins::CatalogueEntry& entry;
  // The plugin's kernels, and those that every device has.
  std::vector<remotecl::plugins::KernelDescription> kernels;
};

struct _cl_context : remotecl::plugins::Object {
  explicit _cl_context(cl_device_id device) : device(device) {}
  const cl_device_id device;
};

struct _cl_mem : remotecl::plugins::Object {
  _cl_mem(cl_context context, cl_mem_flags flags, std::size_t size) : context(context), flags(flags), size(size) {}
  ~_cl_mem();
  const remotecl::plugins::Held<_cl_context> context;
  const cl_mem_flags flags;
  const std::size_t size;
  remotecl::plugins::Held<_cl_mem> parent;
  std::size_t offset = 0;                                 // in the parent
  std::shared_ptr<remotecl::plugins::SharedBlock> block;  // null: the process's own memory
  std::unique_ptr<std::byte[]> own;
  std::byte* data = nullptr;
  std::vector<std::function<void()>> destructors;
};

struct _cl_command_queue : remotecl::plugins::Object {
  _cl_command_queue(cl_context context, cl_command_queue_properties properties)
      : context(context), properties(properties) {}
  bool is_in_order() const { return (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0; }
  const remotecl::plugins::Held<_cl_context> context;
  const cl_command_queue_properties properties;
  std::unordered_set<cl_event> unfinished GUARDED_BY(remotecl::plugins::state_mutex);
  // The predecessor of the next command, if it has not ended: the last command, or the last barrier.
  cl_event predecessor GUARDED_BY(remotecl::plugins::state_mutex) = nullptr;
};

struct _cl_event : remotecl::plugins::Object {
  _cl_event(cl_context context, cl_command_queue queue, cl_command_type type)
      : context(context), queue(queue), type(type) {}
  const remotecl::plugins::Held<_cl_context> context;
  const remotecl::plugins::Held<_cl_command_queue> queue;  // null: a user event
  const cl_command_type type;
  cl_int status GUARDED_BY(remotecl::plugins::state_mutex) = CL_QUEUED;
  cl_ulong times[4] GUARDED_BY(remotecl::plugins::state_mutex) = {};  // queued, submitted, started, ended
  struct Callback {
    cl_int at;
    std::function<void(cl_int)> function;
  };
  std::vector<Callback> callbacks GUARDED_BY(remotecl::plugins::state_mutex);
  // Commands that wait for it, and whether its failure fails them.
  std::vector<std::pair<std::shared_ptr<remotecl::plugins::Command>, bool>> dependents
      GUARDED_BY(remotecl::plugins::state_mutex);
};

struct _cl_program : remotecl::plugins::Object {
  explicit _cl_program(cl_context context) : context(context) {}
  ~_cl_program();
  const remotecl::plugins::Held<_cl_context> context;
  std::vector<std::uint32_t> kernels;  // indices in the device
  // Used by the program's calls, which run one at a time, in their order.
  std::shared_ptr<remotecl::plugins::Instance> instance;
  std::string last_error;
  remotecl::plugins::Held<_cl_event> last_call GUARDED_BY(remotecl::plugins::state_mutex);
};

struct _cl_kernel : remotecl::plugins::Object {
  _cl_kernel(cl_program program, std::uint32_t index);
  const remotecl::plugins::KernelDescription& description() const;
  struct Value {
    bool is_set = false;
    cl_mem memory = nullptr;  // not retained, as OpenCL has it
    std::vector<std::byte> bytes;
  };
  const remotecl::plugins::Held<_cl_program> program;
  const std::uint32_t index;  // in the device
  std::vector<Value> arguments;
};
