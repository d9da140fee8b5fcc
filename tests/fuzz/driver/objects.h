#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/completion/cl.h"

// An OpenCL driver that trusts its caller, in place of a native one. What it is given it uses as it is, so that a
// sanitizer sees what the daemon has let through: a pointer that is none, a range outside of its buffer, memory that is
// gone. Commands are carried out when their queue is flushed or waited for, never when they are enqueued. All state is
// under one lock.
namespace remotecl::fuzz {

std::recursive_mutex& driver_mutex();
using DriverLock = std::lock_guard<std::recursive_mutex>;

// The first words of all objects: what a freed or wrong handle fails at.
struct Object {
  explicit Object(std::uint32_t kind) : kind(kind) {}
  const std::uint32_t kind;
  int references = 1;
};

enum Kind : std::uint32_t { kDevice = 0xD0, kContext, kQueue, kMemory, kProgram, kKernel, kEvent, kSampler };

// Whether a handle is one of that kind. Reads what it points to, as drivers do.
template <class T>
bool is(const T* handle, Kind kind) {
  return handle != nullptr && handle->kind == kind;
}

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

 private:
  T* object_ = nullptr;
};

// What a kernel takes, as its name spells it: k_mv takes a buffer and a value.
enum Argument : char {
  kBuffer = 'm',
  kConstant = 'c',
  kInt = 'v',
  kWide = 'w',  // 16 bytes
  kLocal = 'l',
  kImage = 'i',
  kSamplerArgument = 's'
};

template <class T>
cl_int answer(const T& value, std::size_t size, void* to, std::size_t* size_ret) {
  if (to != nullptr && size < sizeof value) return CL_INVALID_VALUE;
  if (to != nullptr) *static_cast<T*>(to) = value;
  if (size_ret != nullptr) *size_ret = sizeof value;
  return CL_SUCCESS;
}
cl_int answer_bytes(const void* bytes, std::size_t count, std::size_t size, void* to, std::size_t* size_ret);
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

}  // namespace remotecl::fuzz

struct _cl_platform_id {
  std::string name;
};

struct _cl_device_id : remotecl::fuzz::Object {
  _cl_device_id(cl_platform_id platform, bool is_cpu, cl_uint units)
      : Object(remotecl::fuzz::kDevice), platform(platform), is_cpu(is_cpu), units(units) {}
  const cl_platform_id platform;
  const bool is_cpu;
  const cl_uint units;
};

struct _cl_context : remotecl::fuzz::Object {
  explicit _cl_context(cl_device_id device) : Object(remotecl::fuzz::kContext), device(device) {}
  const remotecl::fuzz::Held<_cl_device_id> device;
};

struct _cl_mem : remotecl::fuzz::Object {
  _cl_mem(cl_context context, std::size_t size) : Object(remotecl::fuzz::kMemory), context(context), size(size) {}
  ~_cl_mem();
  const remotecl::fuzz::Held<_cl_context> context;
  const std::size_t size;
  remotecl::fuzz::Held<_cl_mem> parent;
  std::unique_ptr<std::byte[]> own;
  std::byte* data = nullptr;
  // Of an image: its extent and the bytes of a pixel, a row and a slice.
  bool is_image = false;
  std::size_t pixel = 0, row = 0, slice = 0;
  std::vector<std::function<void()>> destructors;
  // Where mappings are copies, as on a device with memory of its own.
  std::vector<std::pair<std::unique_ptr<std::byte[]>, std::pair<std::size_t, std::size_t>>> mapped;
};

struct _cl_event : remotecl::fuzz::Object {
  _cl_event(cl_context context, cl_command_queue queue);
  ~_cl_event();
  const remotecl::fuzz::Held<_cl_context> context;
  const cl_command_queue queue;  // owns a reference; null: a user event
  cl_int status = CL_QUEUED;
  cl_ulong time = 0;
  bool is_profiled = false;
  std::vector<std::function<void(cl_int)>> callbacks;
};

namespace remotecl::fuzz {

struct Command {
  std::function<cl_int()> work;
  std::vector<Held<_cl_event>> waits;
  Held<_cl_event> event;
};

}  // namespace remotecl::fuzz

struct _cl_command_queue : remotecl::fuzz::Object {
  _cl_command_queue(cl_context context, cl_command_queue_properties properties)
      : Object(remotecl::fuzz::kQueue), context(context), properties(properties) {}
  const remotecl::fuzz::Held<_cl_context> context;
  const cl_command_queue_properties properties;
  std::deque<remotecl::fuzz::Command> commands;
};

struct _cl_program : remotecl::fuzz::Object {
  _cl_program(cl_context context, std::string code)
      : Object(remotecl::fuzz::kProgram), context(context), code(std::move(code)) {}
  const remotecl::fuzz::Held<_cl_context> context;
  std::string code;
  cl_build_status status = CL_BUILD_NONE;
  cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
  std::string log;
  std::vector<std::string> kernels;
};

struct _cl_sampler : remotecl::fuzz::Object {
  explicit _cl_sampler(cl_context context) : Object(remotecl::fuzz::kSampler), context(context) {}
  const remotecl::fuzz::Held<_cl_context> context;
};

struct _cl_kernel : remotecl::fuzz::Object {
  _cl_kernel(cl_program program, std::string name)
      : Object(remotecl::fuzz::kKernel), program(program), name(std::move(name)), arguments(this->name.size() - 2) {}
  struct Value {
    bool is_set = false;
    cl_mem memory = nullptr;  // not retained, as OpenCL has it
    cl_sampler sampler = nullptr;
    void* svm = nullptr;
  };
  const remotecl::fuzz::Held<_cl_program> program;
  const std::string name;
  std::vector<Value> arguments;
  char kind_of(std::size_t index) const { return name[index + 2]; }
};

namespace remotecl::fuzz {

// Adds a command, and its event where one is wanted.
cl_int enqueue(cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event,
               std::function<cl_int()> work);
// Carries out what the queue has, up to and with that event; all with null. Without the lock: calls back.
void run(cl_command_queue queue, cl_event until = nullptr);

}  // namespace remotecl::fuzz
