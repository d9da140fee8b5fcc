#pragma once

#include <atomic>
#include <functional>
#include <unordered_map>
#include <vector>

#include "runtime/base/index_set.h"
#include "runtime/base/mutex.h"
#include "runtime/client/objects/device.h"
#include "runtime/client/objects/memory_mutex.h"
#include "runtime/client/objects/returned_writes.h"

namespace remotecl {

class CommandQueue;
class MemoryObject;
struct SessionGroup;

// A context with devices of any number of servers. Any thread.
class Context final : public Handle<_cl_context, HandleTag::kContext, CL_INVALID_CONTEXT> {
 public:
  using Notify = void(CL_CALLBACK*)(const char*, const void*, std::size_t, void*);
  using Destructor = void(CL_CALLBACK*)(cl_context, void*);

  Context(std::vector<Device*> named, std::vector<cl_context_properties> properties, Notify notify, void* user_data);

  // The devices that the application named, with members in place of an automatic device.
  const std::vector<Device*>& devices() const { return devices_; }
  const std::vector<Device*>& named_devices() const { return named_devices_; }
  const std::vector<cl_context_properties>& properties() const { return properties_; }
  bool contains(const Device& device) const;  // among those that the application named
  // The device's position among the context's, from 1, as ResidencyDirectory counts (0 is the host).
  std::uint32_t location(const Device& device) const;
  Device& device_at(std::uint32_t location) const { return *devices_[location - 1]; }

  // What the sessions of its devices share.
  SessionGroup& group() const;
  // Begins to link all servers with each other now. Without this, two are linked when they first need it.
  void link_servers() const;
  // Calls the application's context callback, on the callback thread.
  void notify(const std::string& text) const;
  void add_destructor(Destructor function, void* user_data);

  // The indices of the sessions on which the application has created queues of this context.
  IndexSet sessions_with_queues() const EXCLUDES(queues_mutex_);
  // The application may enqueue on this queue from now on.
  void queue_made(CommandQueue& queue) EXCLUDES(queues_mutex_);
  ReturnedWrites& returned_writes() { return returned_writes_; }

  // Whether the program has user events whose status it has not set; its commands may be waiting for them.
  bool has_open_user_events() const { return open_user_events_.load() != 0; }
  void user_event_opened() { open_user_events_.fetch_add(1); }
  void user_event_closed() { open_user_events_.fetch_sub(1); }

  // Held while a command decides on its transfers and is sent, so that the order of commands is the same on every
  // server.
  Mutex& memory_mutex() RETURN_CAPABILITY(kMemoryMutex) { return memory_mutex_; }
  // An internal queue on `device` for transfers, which must not wait for one another.
  CommandQueue& transfer_queue(Device& device) REQUIRES(kMemoryMutex);
  // The same, for callers that do not hold the mutex.
  CommandQueue& transfer_queue_on(Device& device) EXCLUDES(kMemoryMutex) {
    const MutexLock lock(memory_mutex());
    return transfer_queue(device);
  }

 private:
  ~Context() override;

  const std::vector<Device*> named_devices_;
  const std::vector<Device*> devices_;
  const std::vector<Ref<Device>> kept_devices_;  // the same
  const std::vector<cl_context_properties> properties_;
  const Notify notify_;
  void* const user_data_;
  std::atomic<int> open_user_events_{0};
  mutable Mutex queues_mutex_;
  IndexSet sessions_with_queues_ GUARDED_BY(queues_mutex_);
  ReturnedWrites returned_writes_;
  Mutex memory_mutex_;
  std::unordered_map<Device*, CommandQueue*> transfer_queues_
      GUARDED_BY(kMemoryMutex);  // they do not keep the context alive
  Mutex destructors_mutex_;
  std::vector<std::pair<Destructor, void*>> destructors_ GUARDED_BY(destructors_mutex_);
};

}  // namespace remotecl
