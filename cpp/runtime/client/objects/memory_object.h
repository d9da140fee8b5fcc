#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/objects/buffer_storage.h"
#include "runtime/client/objects/context.h"
#include "runtime/client/objects/handle.h"
#include "runtime/client/objects/image_layout.h"

namespace remotecl {

// A buffer, sub-buffer, image or network. Any thread.
//
// The storage of an image consists of its packed pixels, which are always transferred as a whole. An image
// that was created from a buffer is a view of the buffer's storage. A network is on its device only: kernels there have
// it as an argument, and its bytes never travel.
class MemoryObject final : public Handle<_cl_mem, HandleTag::kMemory, CL_INVALID_MEM_OBJECT> {
 public:
  using Destructor = void(CL_CALLBACK*)(cl_mem, void*);

  // A buffer. `host_ptr` is used or copied as the flags say. Throws std::bad_alloc.
  MemoryObject(Ref<Context> context, cl_mem_flags flags, std::size_t size, void* host_ptr,
               std::vector<cl_mem_properties> properties);
  // A sub-buffer.
  MemoryObject(const Ref<MemoryObject>& parent, cl_mem_flags flags, std::size_t offset, std::size_t size);
  // An image. `host_ptr` has the layout's pitches and is used or copied as the flags say. Throws
  // std::bad_alloc.
  MemoryObject(Ref<Context> context, cl_mem_flags flags, const ImageLayout& layout, void* host_ptr,
               std::vector<cl_mem_properties> properties);
  // Shared virtual memory at `address`, which `owner` keeps alive. Servers whose session is in `created_on` know it
  // by `id`.
  MemoryObject(Ref<Context> context, cl_mem_flags flags, std::size_t size, void* address, std::shared_ptr<void> owner,
               ObjectId id, IndexSet created_on);
  // A buffer over a part of shared virtual memory (CL_MEM_USE_HOST_PTR).
  MemoryObject(const Ref<MemoryObject>& svm, std::size_t svm_offset, cl_mem_flags flags, std::size_t size,
               std::vector<cl_mem_properties> properties);
  // The network that this device's server knows by `id`.
  MemoryObject(Ref<Context> context, Device& device, std::size_t size, ObjectId id);
  // An image created from a buffer or sub-buffer.
  MemoryObject(const Ref<MemoryObject>& buffer, cl_mem_flags flags, const ImageLayout& layout,
               std::vector<cl_mem_properties> properties);

  Context& context() const { return *context_; }
  ObjectId id() const { return id_; }
  cl_mem_flags flags() const { return flags_; }  // as the application gave them; a sub-buffer's include inherited ones
  std::size_t size() const { return size_; }     // in its storage
  const ImageLayout* image() const { return image_.get(); }   // null for buffers
  void* host_ptr() const { return host_ptr_; }                // as CL_MEM_HOST_PTR reports it
  Device* network_device() const { return network_device_; }  // null if it is no network
  MemoryObject* parent() const { return parent_.get(); }
  std::size_t offset() const { return offset_; }  // as CL_MEM_OFFSET reports it
  const std::vector<cl_mem_properties>& properties() const { return properties_; }
  cl_uint map_count() const { return map_count_.load(); }
  BufferStorage& storage() const { return *storage_; }
  std::shared_ptr<BufferStorage> shared_storage() const { return storage_; }
  // The object that owns the whole storage.
  MemoryObject& root() { return parent_ ? parent_->root() : svm_ ? *svm_ : *this; }
  ByteRange range(std::uint64_t offset, std::uint64_t size) const { return {storage_offset_ + offset, size}; }
  // Whether it lies in shared virtual memory.
  bool uses_svm() const { return svm_ || (parent_ && parent_->uses_svm()); }

  const MemoryLink& link() const { return link_; }

  // Creates the object on the server of `session`, once.
  void create_on(Session& session) REQUIRES(kMemoryMutex);
  void add_destructor(Destructor function, void* user_data);

  // cl_pocl_content_size: attaches a buffer whose first 8 bytes say how many of this one's bytes are
  // meaningful; null: all are. It is kept alive while it is attached, and anything attached to it is
  // detached.
  void set_content_size_buffer(MemoryObject* size);
  MemoryObject* content_size_buffer() const REQUIRES(kMemoryMutex) { return content_size_buffer_.get(); }

  // An image's pixels as a mapping shows them: the application's memory, or the host's copy.
  std::byte* image_memory() REQUIRES(kMemoryMutex);
  // The pitches there. The image's own copy is packed.
  Pitches mapped_pitches() const {
    return host_ptr_ == nullptr && !parent_ ? image_->packed_pitches() : image_->pitches;
  }
  // Whether that is the host's copy, which transfers use.
  bool maps_host_copy() const { return host_ptr_ == nullptr || parent_ || image_->is_packed(); }

  // Of the host's copy, or of image_memory().
  void add_mapping(Mapping mapping) REQUIRES(kMemoryMutex);
  // Finds or removes the newest mapping that begins at `pointer`; return false if there is none.
  bool find_mapping(void* pointer, Mapping& found) const REQUIRES(kMemoryMutex);
  bool remove_mapping(void* pointer) REQUIRES(kMemoryMutex);

 private:
  ~MemoryObject() override;
  // The application may free its memory after that, although what it has unmapped is still being sent.
  void last_handle_released() override;

  const Ref<Context> context_;
  const Ref<MemoryObject> parent_;
  const Ref<MemoryObject> svm_;  // for a buffer over shared virtual memory
  const cl_mem_flags flags_;
  const std::size_t offset_;
  const std::size_t size_;
  const std::unique_ptr<const ImageLayout> image_;
  void* const host_ptr_;
  Device* const network_device_ = nullptr;
  const std::vector<cl_mem_properties> properties_;
  const ObjectId id_ = next_id();
  const MemoryLink link_ = std::make_shared<std::atomic<MemoryObject*>>(this);
  const std::shared_ptr<BufferStorage> storage_;
  const std::uint64_t storage_offset_ = 0;        // in the root
  IndexSet created_on_ GUARDED_BY(kMemoryMutex);  // the indices of sessions
  std::atomic<cl_uint> map_count_{0};
  Ref<MemoryObject> content_size_buffer_ GUARDED_BY(kMemoryMutex);
  Mutex destructors_mutex_;
  std::vector<std::pair<Destructor, void*>> destructors_ GUARDED_BY(destructors_mutex_);
};

// Refers to a memory object without keeping it alive, as a kernel does for its arguments.
class WeakMemory {
 public:
  WeakMemory() = default;
  WeakMemory(const Ref<MemoryObject>& memory) : link_(memory ? memory->link() : nullptr) {}

  // Null if there is none, or if it was destroyed.
  MemoryObject* get() const { return link_ ? link_->load(std::memory_order_acquire) : nullptr; }
  MemoryObject* operator->() const { return get(); }
  explicit operator bool() const { return get() != nullptr; }
  bool is_gone() const { return link_ && get() == nullptr; }

 private:
  MemoryLink link_;
};

// All live buffers, for remotecl_residency_json().
std::vector<Ref<MemoryObject>> live_memory_objects();

}  // namespace remotecl
