#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fakes/driver/settings.h"
#include "server/completion/cl.h"

// An OpenCL driver that trusts its caller, in place of a native one. It uses its arguments unchecked, so that a
// sanitizer sees every bad one that the daemon lets through: a wild pointer, a range outside its buffer, freed memory.
// Commands are carried out when their queue is flushed or waited for, never when they are enqueued: by a thread of the
// driver, or by the caller if the settings say "threadless". All state is under one lock.
namespace remotecl::fake {

std::recursive_mutex& driver_mutex();
using DriverLock = std::lock_guard<std::recursive_mutex>;

// The first words of all objects. A freed or wrong handle fails at the kind.
struct Object {
  explicit Object(std::uint32_t kind) : kind(kind) {}
  const void* const dispatch = dispatch_table();
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

// What a kernel takes, as the letters behind the "_" of its name spell it: k_mv takes a buffer and a value.
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

}  // namespace remotecl::fake

struct _cl_platform_id {
  const void* const dispatch = remotecl::fake::dispatch_table();
  std::string name;
  std::vector<cl_device_id> devices;
};

struct _cl_device_id : remotecl::fake::Object {
  _cl_device_id(cl_platform_id platform, cl_device_type type, int number, cl_uint units)
      : Object(remotecl::fake::kDevice), platform(platform), type(type), number(number), units(units) {}
  bool is_cpu() const { return type == CL_DEVICE_TYPE_CPU; }
  bool is_custom() const { return type == CL_DEVICE_TYPE_CUSTOM; }
  // Others take binaries, or have kernels built in.
  bool has_compiler() const { return is_cpu() || type == CL_DEVICE_TYPE_GPU; }
  const cl_platform_id platform;
  const cl_device_type type;
  const int number;  // among those of its type and platform
  const cl_uint units;
};

struct _cl_context : remotecl::fake::Object {
  explicit _cl_context(cl_device_id device) : Object(remotecl::fake::kContext), device(device) {}
  const remotecl::fake::Held<_cl_device_id> device;
};

struct _cl_mem : remotecl::fake::Object {
  _cl_mem(cl_context context, std::size_t size) : Object(remotecl::fake::kMemory), context(context), size(size) {}
  ~_cl_mem();
  const remotecl::fake::Held<_cl_context> context;
  const std::size_t size;
  remotecl::fake::Held<_cl_mem> parent;
  std::unique_ptr<std::byte[]> own;
  std::byte* data = nullptr;
  // Of an image: its extent and the bytes of a pixel, a row and a slice.
  bool is_image = false;
  std::size_t pixel = 0, row = 0, slice = 0;
  std::vector<std::function<void()>> destructors;
  // Where mappings are copies, as on a device with memory of its own.
  std::vector<std::pair<std::unique_ptr<std::byte[]>, std::pair<std::size_t, std::size_t>>> mapped;
};

struct _cl_event : remotecl::fake::Object {
  _cl_event(cl_context context, cl_command_queue queue);
  ~_cl_event();
  const remotecl::fake::Held<_cl_context> context;
  const cl_command_queue queue;  // owns a reference; null: a user event
  cl_int status = CL_QUEUED;
  cl_ulong times[4] = {};  // queued, submitted, started, ended
  bool is_profiled = false;
  std::vector<std::function<void(cl_int)>> callbacks;
};

namespace remotecl::fake {

struct Command {
  std::function<cl_int()> work;
  std::vector<Held<_cl_event>> waits;
  Held<_cl_event> event;
  std::size_t items = 0;        // of a kernel
  bool has_late_event = false;  // see Settings
};

}  // namespace remotecl::fake

struct _cl_command_queue : remotecl::fake::Object {
  _cl_command_queue(cl_context context, cl_command_queue_properties properties)
      : Object(remotecl::fake::kQueue), context(context), properties(properties) {}
  const remotecl::fake::Held<_cl_context> context;
  const cl_command_queue_properties properties;
  std::deque<remotecl::fake::Command> commands;
  std::size_t unfinished = 0;  // commands that have not ended, of which a thread may have taken one
  bool has_thread = false;
  cl_int last_status = CL_COMPLETE;  // of the last command that has ended
};

struct _cl_program : remotecl::fake::Object {
  _cl_program(cl_context context, std::string code)
      : Object(remotecl::fake::kProgram), context(context), code(std::move(code)) {}
  const remotecl::fake::Held<_cl_context> context;
  std::string code;
  cl_build_status status = CL_BUILD_NONE;
  cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
  std::string log;
  std::vector<std::string> kernels;
  bool is_binary = false;  // made of binaries alone
  bool describes_arguments = false;
};

struct _cl_sampler : remotecl::fake::Object {
  explicit _cl_sampler(cl_context context) : Object(remotecl::fake::kSampler), context(context) {}
  const remotecl::fake::Held<_cl_context> context;
};

struct _cl_kernel : remotecl::fake::Object {
  _cl_kernel(cl_program program, std::string name)
      : Object(remotecl::fake::kKernel),
        program(program),
        name(std::move(name)),
        arguments(this->name.size() - letters()) {}
  struct Value {
    bool is_set = false;
    cl_mem memory = nullptr;  // not retained, as OpenCL has it
    cl_sampler sampler = nullptr;
    void* svm = nullptr;
    std::int32_t number = 0;
  };
  const remotecl::fake::Held<_cl_program> program;
  const std::string name;
  std::vector<Value> arguments;
  std::size_t letters() const { return name.find('_') + 1; }
  char kind_of(std::size_t index) const { return name[index + letters()]; }
};

namespace remotecl::fake {

// Adds a command, and its event where one is wanted. A kernel takes as long as the settings say.
cl_int enqueue(cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event,
               std::function<cl_int()> work, std::size_t items = 0, bool has_late_event = false);
// Has what the queue holds carried out. Called without the lock: calls back.
void flush(cl_command_queue queue);
// The same, and waits until that event has ended; until all have, with null.
void run(cl_command_queue queue, cl_event until = nullptr);
// By threads of the driver, in queue_thread.cpp.
void start_thread(cl_command_queue queue);
void wait_for(cl_command_queue queue, cl_event until);
void wait_for_kernels();
void wake_threads();

using Calls = std::vector<std::function<void()>>;
// With the lock. What `calls` gets must be called without it.
void end(const Held<_cl_event>& event, cl_int status, Calls& calls);
// Events that end in the order of this list, and with which status, once their commands have ended.
struct LateEvent {
  Held<_cl_event> event;
  std::optional<cl_int> status{};
};
std::deque<LateEvent>& late_events();
void end_late(const Held<_cl_event>& event, cl_int status, Calls& calls);
void call_back(Calls& calls);
cl_ulong now();

}  // namespace remotecl::fake
