#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "runtime/client/support/ids.h"

// The target of an OpenCL handle. An ICD loader reads the dispatch table from its first word, and we check
// the tag.
namespace remotecl {

enum class HandleTag : std::uint32_t {
  kNone = 0,
  kPlatform = 0x52434c01,
  kDevice,
  kContext,
  kQueue,
  kMemory,
  kProgram,
  kKernel,
  kEvent,
  kSampler,
  kCommandBuffer,
};

struct HandleBase {
  const void* dispatch;
  HandleTag tag;
};

// The ICD sets this before the first handle is created.
extern const void* g_dispatch_table;

}  // namespace remotecl

struct _cl_platform_id : remotecl::HandleBase {};
struct _cl_device_id : remotecl::HandleBase {};
struct _cl_context : remotecl::HandleBase {};
struct _cl_command_queue : remotecl::HandleBase {};
struct _cl_mem : remotecl::HandleBase {};
struct _cl_program : remotecl::HandleBase {};
struct _cl_kernel : remotecl::HandleBase {};
struct _cl_event : remotecl::HandleBase {};

namespace remotecl {

// Base of every class behind a handle. `Struct` is the OpenCL struct; a pointer to it is the handle.
template <class Struct, HandleTag kTag, cl_int kInvalid>
class Handle : public RefCounted, public Struct {
 public:
  using HandleType = Struct*;
  static constexpr HandleTag kHandleTag = kTag;
  static constexpr cl_int kInvalidHandle = kInvalid;  // the error code for an invalid handle of this kind

  HandleType handle() { return static_cast<Struct*>(this); }

  // The application's own references (clRetain..., clRelease...), which together hold one of our references.
  // The runtime's references thus never appear in CL_..._REFERENCE_COUNT.
  void retain_handle() {
    // The application may get back a handle that it has released, from another object that kept this one
    // alive.
    if (handle_count_.fetch_add(1, std::memory_order_relaxed) == 0) this->retain();
  }
  void release_handle() {
    if (handle_count_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    last_handle_released();
    this->release();
  }
  cl_uint handle_count() const { return handle_count_.load(std::memory_order_relaxed); }

 protected:
  Handle() {
    this->dispatch = g_dispatch_table;
    this->tag = kTag;
  }
  ~Handle() override { this->tag = HandleTag::kNone; }
  virtual void last_handle_released() {}

 private:
  std::atomic<cl_uint> handle_count_{1};
};

// The object behind a handle, or null if it is not a live handle of that kind.
template <class Object>
Object* from_handle(typename Object::HandleType handle) {
  if (handle == nullptr || handle->tag != Object::kHandleTag) return nullptr;
  return static_cast<Object*>(handle);
}

}  // namespace remotecl
