#include "runtime/client/program/program.h"

#include <algorithm>

#include "runtime/client/program/binary_container.h"
#include "runtime/client/session/request.h"

namespace remotecl {

Program::Program(Ref<Context> context, std::vector<Device*> devices, ProgramCode code,
                 const std::vector<Device*>& named)
    : context_(std::move(context)),
      devices_(std::move(devices)),
      named_devices_(named.empty() ? devices_ : named),
      code_(std::move(code)) {}

Program::~Program() {
  for (Device* device : context_->devices()) {
    const std::uint32_t session = device->session().index();
    if (created_on_.contains(session)) device->session().send(ReleaseProgram{id_});
    created_on_.remove(session);
  }
}

void Program::create_on(Session& session) {
  const MutexLock lock(mutex_);
  if (created_on_.contains(session.index())) return;
  created_on_.add(session.index());
  std::vector<BuiltInKernels> built_in;
  bool first = true;
  switch (code_.origin) {
    case ProgramOrigin::kSource:
      return session.send(CreateProgramWithSource{id_, as_bytes(code_.text)});
    case ProgramOrigin::kIl:
      return session.send(CreateProgramWithIL{id_, as_bytes(code_.text)});
    case ProgramOrigin::kBinaries:
      for (std::size_t i = 0; i < devices_.size(); ++i) {
        if (&devices_[i]->session() != &session) continue;
        if (std::exchange(first, false)) {
          session.send(CreateProgramWithBinary{id_, devices_[i]->index(), Bytes(code_.parts[i])});
        } else {
          session.send(AddProgramBinary{id_, devices_[i]->index(), Bytes(code_.parts[i])});
        }
      }
      return;
    case ProgramOrigin::kBuiltInKernels:
      for (std::size_t i = 0; i < devices_.size(); ++i) {
        if (&devices_[i]->session() == &session) built_in.push_back({devices_[i]->index(), as_text(code_.parts[i])});
      }
      return session.send(CreateProgramWithBuiltInKernels{id_, std::span<const BuiltInKernels>(built_in)});
    case ProgramOrigin::kLink:
      return;  // created by LinkProgram
  }
}

DeviceBuildInfo Program::build_info(const Device& device) const {
  if (device.is_automatic()) return joint_build_info(device);
  const MutexLock lock(mutex_);
  const auto at = builds_.find(&device);
  return at == builds_.end() ? DeviceBuildInfo{} : at->second;
}

bool Program::built(const Device& device) const {
  if (device.is_automatic()) {
    const auto& members = device.members();
    return std::any_of(members.begin(), members.end(), [this](const Device* member) { return built(*member); });
  }
  const MutexLock lock(mutex_);
  const auto at = builds_.find(&device);
  return at != builds_.end() && at->second.executable;
}

bool Program::allows_remainder(const Device& device) const {
  if (device.is_automatic()) {
    const auto& members = device.members();
    return std::all_of(members.begin(), members.end(),
                       [this](const Device* member) { return allows_remainder(*member); });
  }
  const MutexLock lock(mutex_);
  const auto at = builds_.find(&device);
  return at == builds_.end() || at->second.allows_remainder;
}

bool Program::any_built() const {
  return std::any_of(devices_.begin(), devices_.end(), [this](Device* device) { return built(*device); });
}

std::optional<KernelInfo> Program::kernel_info(const std::string& name, const Device* device) const {
  if (device != nullptr && device->is_automatic()) return joint_kernel_info(name, *device);
  std::optional<KernelInfo> found;
  const MutexLock lock(mutex_);
  for (const auto& [at, build] : builds_) {
    if (!build.executable || (device != nullptr && device != at)) continue;
    const auto kernel = build.kernels.find(name);
    if (kernel == build.kernels.end()) continue;
    if (!found) {
      found = kernel->second;
    } else if (code_.origin == ProgramOrigin::kSource) {
      complete(*found, kernel->second);  // a driver says less of what it has from another one's binary
    }
  }
  return found;
}

std::vector<std::string> Program::kernel_names() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [device, build] : builds_) {
    if (!build.executable || build.kernels.empty()) continue;
    for (const auto& [name, kernel] : build.kernels) names.push_back(name);
    break;
  }
  return names;
}

cl_int Program::binary(Device& device, std::vector<std::byte>& binary) {
  binary.clear();
  if (device.is_automatic()) return bundle(device, binary);
  const DeviceBuildInfo build = build_info(device);
  const auto* const own = given(device);
  if (build.status != CL_BUILD_SUCCESS || is_put_off(device) || (own != nullptr && is_recipe(*own))) {
    if (own != nullptr) {
      binary = pack_binary(*own, *contained(device));
      return CL_SUCCESS;
    }
    return device.lost() ? binary_of_alike(device, binary) : CL_SUCCESS;
  }
  if (build.binary != nullptr) {
    binary = *build.binary;
    return CL_SUCCESS;
  }
  struct BinaryReply {
    cl_int error = CL_DEVICE_NOT_AVAILABLE;
    std::vector<std::byte> binary;
  };
  const auto reply = ask<ProgramBinary>(
      device.session(),
      [&](Token token) {
        device.session().send(GetProgramBinary{id_, device.index(), token});
      },
      [](const ProgramBinary& report) {
        return BinaryReply{report.error, {report.binary.begin(), report.binary.end()}};
      });
  if (!reply) return binary_of_alike(device, binary);
  if (reply->error != CL_SUCCESS) return reply->error;
  binary = pack_binary(reply->binary, build.kernels);
  const MutexLock lock(mutex_);
  DeviceBuildInfo& now = builds_[&device];
  if (now.status != CL_BUILD_SUCCESS) return CL_SUCCESS;  // it is being rebuilt
  if (now.binary == nullptr) now.binary = std::make_shared<const std::vector<std::byte>>(binary);
  binary = *now.binary;
  return CL_SUCCESS;
}

cl_int Program::binary_of_alike(const Device& lost, std::vector<std::byte>& binary) {
  const auto is_alike = [&](const Device* other) { return !other->lost() && are_alike(lost, *other) && built(*other); };
  const auto other = std::find_if(devices_.begin(), devices_.end(), is_alike);
  if (other != devices_.end()) return this->binary(**other, binary);
  const bool all_lost = std::all_of(devices_.begin(), devices_.end(),
                                    [&lost](const Device* each) { return each == &lost || each->lost(); });
  return all_lost ? CL_DEVICE_NOT_AVAILABLE : CL_SUCCESS;
}

template <class Part>
const Part* Program::part_for(const std::vector<Part>& parts, const Device& device) const {
  const auto at = std::find(devices_.begin(), devices_.end(), &device);
  const bool has_any = code_.origin == ProgramOrigin::kBinaries && at != devices_.end();
  return has_any ? &parts[static_cast<std::size_t>(at - devices_.begin())] : nullptr;
}

const std::vector<std::byte>* Program::given(const Device& device) const { return part_for(code_.parts, device); }

std::shared_ptr<const std::vector<std::byte>> Program::recipe(const Device& device) const {
  std::shared_ptr<const std::vector<std::byte>> found = build_info(device).binary;
  if (const auto* const own = given(device); own != nullptr) {
    found = std::make_shared<const std::vector<std::byte>>(*own);
  }
  return found != nullptr && is_recipe(*found) ? found : nullptr;
}

Recipes Program::recipes_of(const std::vector<Device*>& devices, ProgramRecipe recipe) const {
  if (code_.origin != ProgramOrigin::kSource && code_.origin != ProgramOrigin::kIl) return {};
  recipe.is_il = code_.origin == ProgramOrigin::kIl ? 1 : 0;
  recipe.code = as_bytes(code_.text);
  std::vector<RecipeConstant> constants;
  const MutexLock lock(mutex_);
  for (const auto& [constant, value] : constants_) constants.push_back({constant, Bytes(value)});
  recipe.constants = std::span<const RecipeConstant>(constants);
  return recipes_for(devices, recipe);
}

const std::map<std::string, KernelInfo>* Program::contained(const Device& device) const {
  return part_for(code_.contained, device);
}

cl_int Program::specialize(cl_uint constant, Bytes value) {
  cl_int result = CL_DEVICE_NOT_AVAILABLE;
  for (Device* device : devices_) {
    if (!device->takes_il() || device->lost()) continue;
    create_on(device->session());
    const auto error = ask<NativeAnswer>(
        device->session(),
        [&](Token token) {
          device->session().send(SpecializeProgram{id_, token, device->index(), constant, value});
        },
        [](const NativeAnswer& report) { return report.error; });
    if (!error) continue;  // lost just now
    if (*error != CL_SUCCESS) return *error;
    result = CL_SUCCESS;
  }
  if (result != CL_SUCCESS) return result;
  const MutexLock lock(mutex_);
  constants_[constant].assign(value.begin(), value.end());
  return result;
}

}  // namespace remotecl
