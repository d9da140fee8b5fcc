#include "server/memory/memory.h"

#include "server/util/log.h"

namespace remotecl::server {

Memory::~Memory() {
  for (const Native& native : native_) {
    native.device->released_memory().add(native.memory, native.reserved,
                                         [native, counters = counters_] { give_back(native, counters); });
  }
}

const Memory::Native* Memory::find(const Device& device) const {
  for (const Native& native : native_) {
    if (native.device == &device) return &native;
  }
  return nullptr;
}

bool Memory::reserve(Device& device, std::uint64_t size, Native& native) {
  const std::uint32_t index = device.root().index();
  const auto fits = [&] {
    if (!counters_->reserve(index, size)) return false;
    if (device.memory().reserve(size)) return true;
    counters_->give_back(index, size);
    return false;
  };
  if (!fits() && (!device.released_memory().release_all() || !fits())) {
    const LogScope scope({}, index);
    log_info(
        "memory of {} bytes is refused: the device has too little left, or the session or its user may have no more",
        size);
    return false;
  }
  native.reserved = size;
  return true;
}

void Memory::give_back(const Native& native, const Ref<SessionCounters>& counters) {
  if (native.reserved == 0) return;
  native.device->memory().give_back(native.reserved);
  counters->give_back(native.device->root().index(), native.reserved);
}

cl_int Memory::native(Device& device, cl_mem& memory) {
  if (const Native* made = find(device)) {
    memory = made->memory;
    return CL_SUCCESS;
  }
  Native native{&device};
  const cl_int error = make(device, native);
  if (error != CL_SUCCESS) {
    give_back(native, counters_);
    return error;
  }
  native_.push_back(native);
  memory = native.memory;
  return CL_SUCCESS;
}

std::byte* Memory::host_memory(Device& device) {
  cl_mem memory = nullptr;
  return native(device, memory) == CL_SUCCESS ? find(device)->host_memory : nullptr;
}

}  // namespace remotecl::server
