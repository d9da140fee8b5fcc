#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/client/context.h"
#include "runtime/client/event.h"
#include "runtime/client/handle.h"
#include "runtime/memory/residency_directory.h"

namespace remotecl {

// The bytes behind a buffer and its sub-buffers: who holds which, the host's copy, and the events that must have ended
// before a holder's bytes may be read. Everything but the constants requires the context's memory_mutex.
struct BufferStorage {
  BufferStorage(std::uint64_t size, void* application_memory);
  ~BufferStorage();

  // The host's copy: the application's own memory (CL_MEM_USE_HOST_PTR) or pages that cost nothing until touched.
  std::byte* host();

  ResidencyDirectory residency;
  std::uint64_t writes = 0;                                    // how many commands have written so far
  std::map<Location, std::vector<Ref<Event>>> arrivals;        // transfers on their way there
  std::map<Location, std::vector<Ref<CommandQueue>>> writers;  // queues whose commands have written there
  std::vector<Ref<Event>> host_readers;                        // transfers that still read the host's copy

 private:
  const std::uint64_t size_;
  std::byte* host_ = nullptr;
  const bool owns_host_;
};

// A buffer or sub-buffer. Any thread.
class MemoryObject final : public Handle<_cl_mem, HandleTag::kMemory, CL_INVALID_MEM_OBJECT> {
 public:
  using Destructor = void(CL_CALLBACK*)(cl_mem, void*);

  // Buffer. `host_ptr` is used or copied as the flags say. Throws std::bad_alloc.
  MemoryObject(Ref<Context> context, cl_mem_flags flags, std::size_t size, void* host_ptr,
               std::vector<cl_mem_properties> properties);
  // Sub-buffer.
  MemoryObject(Ref<MemoryObject> parent, cl_mem_flags flags, std::size_t offset, std::size_t size);

  Context& context() const { return *context_; }
  ObjectId id() const { return id_; }
  cl_mem_flags flags() const {
    return flags_;
  }  // as the application gave them; inherited ones resolved for sub-buffers
  std::size_t size() const { return size_; }
  void* host_ptr() const { return host_ptr_; }  // as CL_MEM_HOST_PTR reports it
  MemoryObject* parent() const { return parent_.get(); }
  std::size_t offset() const { return offset_; }  // in the parent
  const std::vector<cl_mem_properties>& properties() const { return properties_; }
  cl_uint map_count() const { return map_count_.load(); }
  BufferStorage& storage() const { return *storage_; }
  std::shared_ptr<BufferStorage> shared_storage() const { return storage_; }
  MemoryObject& root() { return parent_ ? *parent_ : *this; }
  ByteRange range(std::uint64_t offset, std::uint64_t size) const { return {offset_ + offset, size}; }

  // Makes the server of `session` know the object. Requires the context's memory_mutex.
  void create_on(Session& session);
  void add_destructor(Destructor function, void* user_data);

  // cl_pocl_content_size: a buffer whose first 8 bytes say how many of this one's bytes mean anything; null: all do. It
  // is kept as long as it is attached, and loses what was attached to itself.
  void set_content_size_buffer(MemoryObject& size);
  Ref<MemoryObject> content_size_buffer() const;

  // A mapped region of the host's copy.
  struct Mapping {
    std::uint64_t offset, size;
    cl_map_flags flags;
  };
  // Requires the context's memory_mutex.
  void* add_mapping(std::uint64_t offset, std::uint64_t size, cl_map_flags flags);
  // Takes one mapping that begins at `pointer` away; false when there is none.
  bool remove_mapping(void* pointer, Mapping& removed);

 private:
  ~MemoryObject() override;

  const Ref<Context> context_;
  const Ref<MemoryObject> parent_;
  const cl_mem_flags flags_;
  const std::size_t offset_;
  const std::size_t size_;
  void* const host_ptr_;
  const std::vector<cl_mem_properties> properties_;
  const ObjectId id_ = next_id();
  const std::shared_ptr<BufferStorage> storage_;
  std::atomic<std::uint64_t> created_on_{0};  // bit per session
  std::atomic<cl_uint> map_count_{0};
  std::vector<Mapping> mappings_;
  Ref<MemoryObject> content_size_buffer_;  // protected by a mutex of all buffers
  std::mutex destructors_mutex_;
  std::vector<std::pair<Destructor, void*>> destructors_;
};

// Every live buffer, for remotecl_residency_json().
std::vector<Ref<MemoryObject>> live_memory_objects();

}  // namespace remotecl
