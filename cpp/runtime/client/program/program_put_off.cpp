// Binaries that a server gets only when it needs them. Programs that cache binaries, as PyOpenCL does, create
// them for all devices of a context, although most of their kernels run on one.
#include <algorithm>

#include "runtime/client/program/program.h"
#include "runtime/client/session/session.h"
#include "runtime/client/support/stderr_notice.h"

namespace remotecl {
namespace {

bool makes_kernels(Bytes binary) { return is_recipe(binary) && makes_executable(open_recipe(binary)); }

}  // namespace

// Servers with a queue will run kernels, so they are asked now. At least one server must say whether its
// driver accepts the binary, and what it knows of its kernels.
std::vector<Device*> Program::inspected_now(const std::vector<Device*>& devices) {
  if (code_.origin != ProgramOrigin::kBinaries) return devices;
  IndexSet needed = context_->sessions_with_queues();
  const auto is_needed = [&needed](const Device* device) {
    return device->lost() || needed.contains(device->session().index());
  };
  const auto is_living = [](const Device* device) { return !device->lost(); };
  const auto is_asked = [&](const Device* device) { return is_living(device) && is_needed(device); };
  const auto living = std::find_if(devices.begin(), devices.end(), is_living);
  if (living != devices.end() && std::none_of(devices.begin(), devices.end(), is_asked)) {
    needed.add((*living)->session().index());
  }
  for (const Device* device : devices) {
    // A binary that is not ours may be invalid.
    if (contained(*device)->empty() && !makes_kernels(*given(*device))) needed.add(device->session().index());
  }
  std::vector<Device*> now;
  const MutexLock lock(mutex_);
  for (Device* device : devices) {
    if (is_needed(device)) {
      now.push_back(device);
      continue;
    }
    put_off_.try_emplace(&device->session());
    builds_[device].binary_type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
  }
  has_put_off_ = !put_off_.empty();
  return now;
}

std::vector<Device*> Program::built_now(const std::vector<Device*>& devices, const std::string& options) {
  if (!has_put_off_) return devices;
  const MutexLock lock(mutex_);
  const auto is_now = [this](Device* device) REQUIRES(mutex_) { return !put_off_.contains(&device->session()); };
  if (building_ != 0 || attached_kernels() != 0) return devices;  // the build will be refused
  std::erase_if(put_off_, [](const auto& later) { return later.first->lost(); });
  std::vector<Device*> now;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(now), is_now);
  if (now.empty()) {
    for (Device* device : devices) put_off_.erase(&device->session());
    return devices;
  }
  for (Device* device : devices) {
    if (is_now(device)) continue;
    PutOff& later = put_off_[&device->session()];
    if (std::find(later.built.begin(), later.built.end(), device) == later.built.end()) later.built.push_back(device);
    later.options = options;
    later.allows_remainder = allows_remainder_by(options);
    DeviceBuildInfo& info = builds_[device] = {};
    info.status = CL_BUILD_SUCCESS;
    info.executable = true;
    info.options = options;
    info.binary_type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
    info.allows_remainder = later.allows_remainder;
  }
  return now;
}

bool Program::is_put_off(const Device& device) const {
  const MutexLock lock(mutex_);
  return put_off_.contains(&device.session());
}

bool Program::ready_on(const Device& device) {
  if (device.is_automatic() && has_put_off_) {
    const auto is_ready = [this](const Device* member) { return ready_on(*member); };
    return std::count_if(device.members().begin(), device.members().end(), is_ready) != 0;  // asks each of them
  }
  if (has_put_off_) {
    make_up_for(device.session());
    // Another thread may be building it.
    device.session().wait([this, &device] {
      const MutexLock lock(mutex_);
      return builds_[&device].status != CL_BUILD_IN_PROGRESS;
    });
  }
  return built(device);
}

void Program::make_up_for(Session& session) {
  PutOff late;
  {
    const MutexLock lock(mutex_);
    const auto at = put_off_.find(&session);
    if (at == put_off_.end()) return;
    late = std::move(at->second);
    put_off_.erase(at);
    for (Device* device : late.built) {
      builds_[device].status = CL_BUILD_IN_PROGRESS;  // so that no other thread takes it for built
      builds_[device].executable = false;
    }
  }
  if (late.built.empty()) return;
  Build build{late.built, late.options, {}, late.allows_remainder, CL_BUILD_PROGRAM_FAILURE, {}};
  build.is_late = true;
  if (build_now(std::move(build)) == CL_SUCCESS || session.lost()) return;
  {
    // A build that could not begin says nothing of these.
    const MutexLock lock(mutex_);
    for (Device* device : late.built) {
      if (builds_[device].status == CL_BUILD_IN_PROGRESS) builds_[device].status = CL_BUILD_ERROR;
    }
  }
  session.wake();
  const std::string text = "a program binary cannot be used: the driver of " + session.address().text() +
                           " refuses what it has made before; build the program from source";
  context_->notify(text);
  notice(text);
}

}  // namespace remotecl
