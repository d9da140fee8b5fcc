#include "runtime/client/objects/context.h"

#include <algorithm>

#include "runtime/client/objects/command_queue.h"
#include "runtime/client/support/callback_thread.h"
#include "runtime/protocol/sizes.h"

namespace remotecl {

namespace {

std::vector<Ref<Device>> references(const std::vector<Device*>& devices) { return {devices.begin(), devices.end()}; }

}  // namespace

Context::Context(std::vector<Device*> named, std::vector<cl_context_properties> properties, Notify notify,
                 void* user_data)
    : named_devices_(std::move(named)),
      devices_(with_members(named_devices_)),
      kept_devices_(references(devices_)),
      properties_(std::move(properties)),
      notify_(notify),
      user_data_(user_data) {}

Context::~Context() {
  for (auto& [device, queue] : transfer_queues_) queue->release();
  for (auto at = destructors_.rbegin(); at != destructors_.rend(); ++at) at->first(handle(), at->second);
}

SessionGroup& Context::group() const { return devices_.front()->session().group(); }

void Context::link_servers() const {
  std::vector<Session*> sessions;
  for (const Device* device : devices_) sessions.push_back(&device->session());
  group().links.connect(sessions);
}

bool Context::contains(const Device& device) const {
  return std::find(named_devices_.begin(), named_devices_.end(), &device) != named_devices_.end();
}

std::uint32_t Context::location(const Device& device) const {
  const auto at = std::find(devices_.begin(), devices_.end(), &device);
  return static_cast<std::uint32_t>(at - devices_.begin()) + 1;
}

IndexSet Context::sessions_with_queues() const {
  const MutexLock lock(queues_mutex_);
  return sessions_with_queues_;
}

void Context::queue_made(CommandQueue& queue) {
  returned_writes_.made(queue);
  const MutexLock lock(queues_mutex_);
  sessions_with_queues_.add(queue.session().index());
}

void Context::notify(const std::string& text) const {
  if (notify_ == nullptr) return;
  post_callback([function = notify_, user_data = user_data_, text] { function(text.c_str(), nullptr, 0, user_data); });
}

void Context::add_destructor(Destructor function, void* user_data) {
  const MutexLock lock(destructors_mutex_);
  destructors_.emplace_back(function, user_data);
}

CommandQueue& Context::transfer_queue(Device& device) {
  CommandQueue*& queue = transfer_queues_[&device];
  if (queue == nullptr) {
    const auto offered = device.number<cl_command_queue_properties>(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
    queue = new CommandQueue(*this, device, offered & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, {}, true);
  }
  return *queue;
}

}  // namespace remotecl
