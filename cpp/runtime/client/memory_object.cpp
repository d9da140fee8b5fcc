#include "runtime/client/memory_object.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <unordered_set>

namespace remotecl {
namespace {

std::mutex g_live_mutex;
std::mutex g_content_size_mutex;
std::unordered_set<MemoryObject*>& live_set() {
  static auto& set = *new std::unordered_set<MemoryObject*>;
  return set;
}

constexpr cl_mem_flags kAccess = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
constexpr cl_mem_flags kHostAccess = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
constexpr cl_mem_flags kHostPointer = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

cl_mem_flags inherit(cl_mem_flags own, cl_mem_flags parent) {
  if ((own & kAccess) == 0) own |= parent & kAccess;
  if ((own & kHostAccess) == 0) own |= parent & kHostAccess;
  return own | (parent & kHostPointer);
}

}  // namespace

BufferStorage::BufferStorage(std::uint64_t size, void* application_memory)
    : residency(size),
      size_(size),
      host_(static_cast<std::byte*>(application_memory)),
      owns_host_(application_memory == nullptr) {}

BufferStorage::~BufferStorage() {
  if (owns_host_ && host_ != nullptr) ::munmap(host_, size_);
}

std::byte* BufferStorage::host() {
  if (host_ == nullptr) {
    void* pages = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    host_ = static_cast<std::byte*>(pages);
  }
  return host_;
}

MemoryObject::MemoryObject(Ref<Context> context, cl_mem_flags flags, std::size_t size, void* host_ptr,
                           std::vector<cl_mem_properties> properties)
    : context_(std::move(context)),
      flags_((flags & kAccess) == 0 ? flags | CL_MEM_READ_WRITE : flags),
      offset_(0),
      size_(size),
      host_ptr_((flags & CL_MEM_USE_HOST_PTR) != 0 ? host_ptr : nullptr),
      properties_(std::move(properties)),
      storage_(std::make_shared<BufferStorage>(size, host_ptr_)) {
  if ((flags & CL_MEM_COPY_HOST_PTR) != 0) std::memcpy(storage_->host(), host_ptr, size);
  if ((flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR)) != 0) storage_->residency.write({0, size}, kHost);
  const std::lock_guard lock(g_live_mutex);
  live_set().insert(this);
}

MemoryObject::MemoryObject(Ref<MemoryObject> parent, cl_mem_flags flags, std::size_t offset, std::size_t size)
    : context_(parent->context_),
      parent_(parent),
      flags_(inherit(flags, parent->flags())),
      offset_(offset),
      size_(size),
      host_ptr_(parent->host_ptr_ == nullptr ? nullptr : static_cast<std::byte*>(parent->host_ptr_) + offset),
      storage_(parent->storage_) {
  const std::lock_guard lock(g_live_mutex);
  live_set().insert(this);
}

MemoryObject::~MemoryObject() {
  {
    const std::lock_guard lock(g_live_mutex);
    live_set().erase(this);
  }
  std::uint64_t sessions = created_on_.load();
  for (Device* device : context_->devices()) {
    const std::uint64_t bit = std::uint64_t{1} << device->session().index();
    if ((sessions & bit) == 0) continue;
    sessions &= ~bit;
    device->session().send(ReleaseBuffer{id_});
  }
  for (auto at = destructors_.rbegin(); at != destructors_.rend(); ++at) at->first(handle(), at->second);
}

void MemoryObject::create_on(Session& session) {
  const std::uint64_t bit = std::uint64_t{1} << session.index();
  if ((created_on_.load() & bit) != 0) return;
  created_on_.fetch_or(bit);
  if (parent_) {
    parent_->create_on(session);
    session.send(CreateSubBuffer{id_, parent_->id(), flags_ & kAccess, offset_, size_});
  } else {
    session.send(CreateBuffer{id_, flags_ & kAccess, size_});
  }
}

void MemoryObject::add_destructor(Destructor function, void* user_data) {
  const std::lock_guard lock(destructors_mutex_);
  destructors_.emplace_back(function, user_data);
}

void MemoryObject::set_content_size_buffer(MemoryObject& size) {
  Ref<MemoryObject> next(&size);
  Ref<MemoryObject> its_own;  // no chains, so no cycles
  const std::lock_guard lock(g_content_size_mutex);
  std::swap(content_size_buffer_, next);
  std::swap(size.content_size_buffer_, its_own);
}

Ref<MemoryObject> MemoryObject::content_size_buffer() const {
  const std::lock_guard lock(g_content_size_mutex);
  return content_size_buffer_;
}

void* MemoryObject::add_mapping(std::uint64_t offset, std::uint64_t size, cl_map_flags flags) {
  std::byte* host = storage_->host();
  mappings_.push_back({offset, size, flags});
  map_count_.fetch_add(1);
  return host + offset_ + offset;
}

bool MemoryObject::remove_mapping(void* pointer, Mapping& removed) {
  for (auto at = mappings_.rbegin(); at != mappings_.rend(); ++at) {
    if (storage_->host() + offset_ + at->offset != pointer) continue;
    removed = *at;
    mappings_.erase(std::next(at).base());
    map_count_.fetch_sub(1);
    return true;
  }
  return false;
}

std::vector<Ref<MemoryObject>> live_memory_objects() {
  const std::lock_guard lock(g_live_mutex);
  std::vector<Ref<MemoryObject>> objects;
  for (MemoryObject* object : live_set()) {
    if (object->try_retain()) objects.push_back(Ref<MemoryObject>::adopt(object));
  }
  return objects;
}

}  // namespace remotecl
