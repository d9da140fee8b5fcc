#include "runtime/client/objects/memory_object.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "runtime/base/mutex.h"
#include "runtime/client/objects/handle_registry.h"

namespace remotecl {
namespace {

Mutex g_live_mutex;
std::unordered_set<MemoryObject*>& live_set() REQUIRES(g_live_mutex) {
  static auto& set = *new std::unordered_set<MemoryObject*>;
  return set;
}

constexpr cl_mem_flags kAccess = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
constexpr cl_mem_flags kHostAccess = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
constexpr cl_mem_flags kHostPointer = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

// The release of memory of this size is sent at once, so that a device does not hold it until something else
// is sent.
constexpr std::size_t kLarge = 1u << 20;

cl_mem_flags inherit(cl_mem_flags own, cl_mem_flags parent) {
  if ((own & kAccess) == 0) own |= parent & kAccess;
  if ((own & kHostAccess) == 0) own |= parent & kHostAccess;
  return own | (parent & kHostPointer);
}

void call(const std::vector<std::pair<MemoryObject::Destructor, void*>>& destructors, cl_mem memory) {
  for (auto at = destructors.rbegin(); at != destructors.rend(); ++at) at->first(memory, at->second);
}

}  // namespace

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
  const MutexLock lock(g_live_mutex);
  live_set().insert(this);
}

MemoryObject::MemoryObject(const Ref<MemoryObject>& parent, cl_mem_flags flags, std::size_t offset, std::size_t size)
    : context_(parent->context_),
      parent_(parent),
      flags_(inherit(flags, parent->flags())),
      offset_(offset),
      size_(size),
      host_ptr_(parent->host_ptr_ == nullptr ? nullptr : static_cast<std::byte*>(parent->host_ptr_) + offset),
      storage_(parent->storage_),
      storage_offset_(parent->storage_offset_ + offset) {
  const MutexLock lock(g_live_mutex);
  live_set().insert(this);
}

MemoryObject::MemoryObject(Ref<Context> context, cl_mem_flags flags, std::size_t size, void* address,
                           std::shared_ptr<void> owner, ObjectId id, IndexSet created_on)
    : context_(std::move(context)),
      flags_((flags & kAccess) == 0 ? flags | CL_MEM_READ_WRITE : flags),
      offset_(0),
      size_(size),
      host_ptr_(address),
      id_(id),
      storage_(std::make_shared<BufferStorage>(size, address)),
      created_on_(std::move(created_on)) {
  storage_->application_memory_owner = std::move(owner);
  const MutexLock lock(g_live_mutex);
  live_set().insert(this);
}

MemoryObject::MemoryObject(Ref<Context> context, Device& device, std::size_t size, ObjectId id)
    : context_(std::move(context)),
      flags_(CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS),
      offset_(0),
      size_(size),
      host_ptr_(nullptr),
      network_device_(&device),
      id_(id),
      storage_(std::make_shared<BufferStorage>(size, nullptr)) {
  created_on_.add(device.session().index());
  const MutexLock lock(g_live_mutex);
  live_set().insert(this);
}

MemoryObject::MemoryObject(const Ref<MemoryObject>& svm, std::size_t svm_offset, cl_mem_flags flags, std::size_t size,
                           std::vector<cl_mem_properties> properties)
    : context_(svm->context_),
      svm_(svm),
      flags_((flags & kAccess) == 0 ? flags | CL_MEM_READ_WRITE : flags),
      offset_(0),
      size_(size),
      host_ptr_(static_cast<std::byte*>(svm->host_ptr_) + svm_offset),
      properties_(std::move(properties)),
      storage_(svm->storage_),
      storage_offset_(svm_offset) {
  const MutexLock lock(g_live_mutex);
  live_set().insert(this);
}

MemoryObject::MemoryObject(Ref<Context> context, cl_mem_flags flags, const ImageLayout& layout, void* host_ptr,
                           std::vector<cl_mem_properties> properties)
    : context_(std::move(context)),
      flags_((flags & kAccess) == 0 ? flags | CL_MEM_READ_WRITE : flags),
      offset_(0),
      size_(*layout.shape.packed_size()),
      image_(std::make_unique<const ImageLayout>(layout)),
      host_ptr_((flags & CL_MEM_USE_HOST_PTR) != 0 ? host_ptr : nullptr),
      properties_(std::move(properties)),
      storage_(std::make_shared<BufferStorage>(size_, layout.is_packed() ? host_ptr_ : nullptr)) {
  if (host_ptr != nullptr) {
    if (host_ptr_ == nullptr || !layout.is_packed()) {
      const Extent rows = layout.bytes(layout.shape.whole());
      copy_rows(layout.at({}, layout.pitches), static_cast<const std::byte*>(host_ptr),
                layout.at({}, layout.packed_pitches()), storage_->host(), rows);
    }
    storage_->residency.write({0, size_}, kHost);
  }
  HandleRegistry::add(handle());
  const MutexLock lock(g_live_mutex);
  live_set().insert(this);
}

MemoryObject::MemoryObject(const Ref<MemoryObject>& buffer, cl_mem_flags flags, const ImageLayout& layout,
                           std::vector<cl_mem_properties> properties)
    : context_(buffer->context_),
      parent_(buffer),
      flags_(inherit(flags, buffer->flags())),
      offset_(buffer->offset_),
      size_(layout.size()),
      image_(std::make_unique<const ImageLayout>(layout)),
      host_ptr_(buffer->host_ptr_),
      properties_(std::move(properties)),
      storage_(buffer->storage_),
      storage_offset_(buffer->storage_offset_) {
  HandleRegistry::add(handle());
  const MutexLock lock(g_live_mutex);
  live_set().insert(this);
}

MemoryObject::~MemoryObject() {
  link_->store(nullptr, std::memory_order_release);
  if (image_) HandleRegistry::remove(handle());
  if (storage_->coherent && &root() == this) storage_->end_coherence(*this);
  {
    const MutexLock lock(g_live_mutex);
    live_set().erase(this);
  }
  for (Device* device : context_->devices()) {
    const std::uint32_t session = device->session().index();
    if (!created_on_.contains(session)) continue;
    created_on_.remove(session);
    if (image_) {
      device->session().send(ReleaseImage{id_});
    } else {
      device->session().send(ReleaseBuffer{id_});
    }
    if (size_ >= kLarge && !parent_) device->session().submit_now();
  }
  // The destructor callbacks say that the application's memory is free again, so they wait for its last transfers.
  if (host_ptr_ != nullptr && &root() == this && storage_.use_count() > 1) {
    storage_->at_end = [handle = handle(), destructors = std::move(destructors_)] { call(destructors, handle); };
  } else {
    call(destructors_, handle());
  }
}

void MemoryObject::last_handle_released() {
  // Transfers from the memory keep the storage.
  if (host_ptr_ == nullptr || storage_->application_memory_owner || storage_.use_count() == 1) return;
  const auto* const memory = static_cast<const std::byte*>(host_ptr_);
  const std::uint64_t size = image_ ? image_->size() : size_;
  for (Device* device : context_->devices()) device->session().stop_sending_from(memory, size);
}

void MemoryObject::create_on(Session& session) {
  if (created_on_.contains(session.index())) return;
  created_on_.add(session.index());
  MemoryObject& whole = root();
  if (image_) {
    if (parent_) parent_->create_on(session);
    const ImageShape& shape = image_->shape;
    session.send(CreateImage{id_, parent_ ? parent_->id() : 0, flags_ & kAccess, image_->format.image_channel_order,
                             image_->format.image_channel_data_type, shape.type, shape.width, shape.height, shape.depth,
                             shape.array_size,
                             parent_ && shape.type == CL_MEM_OBJECT_IMAGE2D ? image_->pitches.row : 0});
  } else if (&whole != this) {
    whole.create_on(session);
    session.send(CreateSubBuffer{id_, whole.id(), flags_ & kAccess, storage_offset_, size_});
  } else {
    session.send(CreateBuffer{id_, flags_ & kAccess, size_});
  }
}

std::byte* MemoryObject::image_memory() {
  return maps_host_copy() ? storage_->host() + storage_offset_ : static_cast<std::byte*>(host_ptr_);
}

void MemoryObject::add_destructor(Destructor function, void* user_data) {
  const MutexLock lock(destructors_mutex_);
  destructors_.emplace_back(function, user_data);
}

void MemoryObject::set_content_size_buffer(MemoryObject* size) {
  Ref<MemoryObject> next(size);
  Ref<MemoryObject> its_own;  // no chains, so no cycles
  const MutexLock lock(context_->memory_mutex());
  std::swap(content_size_buffer_, next);
  if (size != nullptr) std::swap(size->content_size_buffer_, its_own);
}

void MemoryObject::add_mapping(Mapping mapping) {
  mapping.of = link_;
  storage_->mappings.add(std::move(mapping));
  map_count_.fetch_add(1);
}

bool MemoryObject::find_mapping(void* pointer, Mapping& found) const {
  return storage_->mappings.find(static_cast<std::byte*>(pointer), link_, found);
}

bool MemoryObject::remove_mapping(void* pointer) {
  if (!storage_->mappings.remove(static_cast<std::byte*>(pointer), link_)) return false;
  map_count_.fetch_sub(1);
  return true;
}

std::vector<Ref<MemoryObject>> live_memory_objects() {
  const MutexLock lock(g_live_mutex);
  std::vector<Ref<MemoryObject>> objects;
  for (MemoryObject* object : live_set()) {
    if (object->try_retain()) objects.push_back(Ref<MemoryObject>::adopt(object));
  }
  return objects;
}

}  // namespace remotecl
