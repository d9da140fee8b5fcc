#include "runtime/client/program.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>

#include "runtime/client/callback_thread.h"
#include "runtime/client/include_files.h"
#include "runtime/client/session.h"

namespace remotecl {
namespace {

ArgumentInfo argument_info(const ArgumentDescription& from) {
  return {from.kind,
          from.size,
          from.info_status,
          from.address_qualifier,
          from.access_qualifier,
          from.type_qualifier,
          std::string(from.type_name),
          std::string(from.name)};
}

KernelInfo kernel_info(const KernelDescription& from) {
  KernelInfo info;
  info.name = from.name;
  info.attributes = from.attributes;
  info.work_group_size = from.work_group_size;
  std::copy(from.compile_work_group_size.begin(), from.compile_work_group_size.end(),
            info.compile_work_group_size.begin());
  info.local_memory_size = from.local_memory_size;
  info.preferred_multiple = from.preferred_multiple;
  info.private_memory_size = from.private_memory_size;
  from.arguments.for_each(
      [&info](const ArgumentDescription& argument) { info.arguments.push_back(argument_info(argument)); });
  return info;
}

}  // namespace

// A build on the way: the last server to answer ends it.
struct Program::Build {
  std::atomic<int> servers_left{0};
  std::atomic<bool> done{false};
  Callback callback = nullptr;
  void* user_data = nullptr;
};

Program::Program(Ref<Context> context, std::string source)
    : context_(std::move(context)), devices_(context_->devices()), source_(std::move(source)) {}

Program::Program(Ref<Context> context, std::vector<Device*> devices, std::vector<std::vector<std::byte>> binaries)
    : context_(std::move(context)), devices_(std::move(devices)), binaries_(std::move(binaries)) {}

Program::~Program() {
  for (Device* device : context_->devices()) {
    const std::uint64_t bit = std::uint64_t{1} << device->session().index();
    if ((created_on_ & bit) != 0) device->session().send(ReleaseProgram{id_});
    created_on_ &= ~bit;
  }
}

void Program::create_on(Session& session) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t bit = std::uint64_t{1} << session.index();
  if ((created_on_ & bit) != 0) return;
  created_on_ |= bit;
  if (from_source()) {
    session.send(CreateProgramWithSource{id_, as_bytes(source_)});
    return;
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (&devices_[i]->session() == &session) {
      session.send(CreateProgramWithBinary{id_, devices_[i]->index(), Bytes(binaries_[i])});
    }
  }
}

cl_int Program::build(const std::vector<Device*>& devices, const std::string& options, Callback callback,
                      void* user_data) {
  IncludeFiles includes;
  try {
    includes = find_include_files(source_, options);
  } catch (const std::invalid_argument&) {
    return CL_INVALID_BUILD_OPTIONS;
  }
  std::map<Session*, std::vector<Device*>> servers;
  for (Device* device : devices) servers[&device->session()].push_back(device);
  {
    const std::lock_guard lock(mutex_);
    if (building_ || attached_kernels() != 0) return CL_INVALID_OPERATION;
    building_ = true;
    for (Device* device : devices) {
      builds_[device] = {};
      builds_[device].status = CL_BUILD_IN_PROGRESS;
      builds_[device].options = options;
    }
  }
  const auto build = std::make_shared<Build>();
  build->servers_left = static_cast<int>(servers.size());
  build->callback = callback;
  build->user_data = user_data;
  std::vector<IncludeFolder> folders;
  for (const std::string& folder : includes.folders) folders.push_back({folder});
  std::vector<HeaderFile> headers;
  for (const IncludeFiles::File& file : includes.files) headers.push_back({file.path, as_bytes(file.content)});
  for (auto& [session, of_session] : servers) {
    create_on(*session);
    std::vector<std::uint32_t> indices;
    for (Device* device : of_session) indices.push_back(device->index());
    if (callback != nullptr) session->add_interest();
    const Token token = session->expect_reply([this, keep = Ref<Program>(this), build, session = session,
                                               of_session = of_session](std::uint16_t, const Bytes* payload) {
      store(*session, of_session, payload);
      if (build->callback != nullptr) session->drop_interest();
      if (build->servers_left.fetch_sub(1) != 1) return;
      {
        const std::lock_guard lock(mutex_);
        building_ = false;
      }
      build->done = true;
      if (build->callback == nullptr) return;
      post_callback([keep, build] { build->callback(keep->handle(), build->user_data); });
    });
    session->send(BuildProgram{id_, token, std::span<const std::uint32_t>(indices), includes.options,
                               std::span<const IncludeFolder>(folders), std::span<const HeaderFile>(headers)});
    session->flush();
  }
  if (callback != nullptr) return CL_SUCCESS;
  cl_int result = CL_SUCCESS;
  for (auto& [session, of_session] : servers) {
    const auto answered = [this, &of_session = of_session] {
      const std::lock_guard lock(mutex_);
      return std::none_of(of_session.begin(), of_session.end(),
                          [this](Device* device) { return builds_[device].status == CL_BUILD_IN_PROGRESS; });
    };
    session->wait(answered);
    for (Device* device : of_session) {
      const DeviceBuildInfo info = build_info(*device);
      if (result == CL_SUCCESS && info.status != CL_BUILD_SUCCESS) {
        result = info.error != CL_SUCCESS ? info.error : CL_BUILD_PROGRAM_FAILURE;
      }
    }
  }
  return result;
}

void Program::store(Session& session, const std::vector<Device*>& devices, const Bytes* payload) {
  const std::lock_guard lock(mutex_);
  BuildDone report{};
  if (payload != nullptr) {
    Decoder decoder(*payload);
    decoder.read(report);  // checked by the session already
  }
  report.builds.for_each([&](const DeviceBuild& from) {
    for (Device* device : devices) {
      if (device->index() != from.device) continue;
      DeviceBuildInfo& to = builds_[device];
      to.error = from.error;
      to.status = from.status;
      to.log = from.log;
      to.binary_type = from.binary_type;
      to.binary_size = from.binary_size;
      from.kernels.for_each([&to](const KernelDescription& kernel) {
        to.kernels[std::string(kernel.name)] = remotecl::kernel_info(kernel);
      });
    }
  });
  for (Device* device : devices) {
    DeviceBuildInfo& build = builds_[device];
    if (build.status != CL_BUILD_IN_PROGRESS) continue;
    build.status = CL_BUILD_ERROR;
    build.error = CL_DEVICE_NOT_AVAILABLE;
    build.log = "remotecl: no answer from " + session.address().text() + ": " + session.lost_reason();
  }
}

DeviceBuildInfo Program::build_info(const Device& device) const {
  const std::lock_guard lock(mutex_);
  const auto at = builds_.find(&device);
  return at == builds_.end() ? DeviceBuildInfo{} : at->second;
}

bool Program::built(const Device& device) const {
  const std::lock_guard lock(mutex_);
  const auto at = builds_.find(&device);
  return at != builds_.end() && at->second.status == CL_BUILD_SUCCESS;
}

bool Program::any_built() const {
  return std::any_of(devices_.begin(), devices_.end(), [this](Device* device) { return built(*device); });
}

std::optional<KernelInfo> Program::kernel_info(const std::string& name, const Device* device) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [at, build] : builds_) {
    if (build.status != CL_BUILD_SUCCESS || (device != nullptr && device != at)) continue;
    const auto kernel = build.kernels.find(name);
    if (kernel != build.kernels.end()) return kernel->second;
  }
  return std::nullopt;
}

std::vector<std::string> Program::kernel_names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [device, build] : builds_) {
    if (build.status != CL_BUILD_SUCCESS) continue;
    for (const auto& [name, kernel] : build.kernels) names.push_back(name);
    break;
  }
  return names;
}

cl_int Program::binary(Device& device, std::vector<std::byte>& binary) {
  binary.clear();
  if (!from_source()) {
    const auto at = std::find(devices_.begin(), devices_.end(), &device);
    if (at != devices_.end() && !built(device)) {
      binary = binaries_[static_cast<std::size_t>(at - devices_.begin())];
      return CL_SUCCESS;
    }
  }
  if (!built(device)) return CL_SUCCESS;
  struct Answer {
    std::atomic<bool> done{false};
    cl_int error = CL_DEVICE_NOT_AVAILABLE;
    std::vector<std::byte> binary;
  };
  const auto answer = std::make_shared<Answer>();
  Session& session = device.session();
  const Token token = session.expect_reply([answer](std::uint16_t, const Bytes* payload) {
    ProgramBinary report{};
    if (payload != nullptr && Decoder(*payload).read(report)) {
      answer->error = report.error;
      answer->binary.assign(report.binary.begin(), report.binary.end());
    }
    answer->done = true;
  });
  session.send(GetProgramBinary{id_, device.index(), token});
  session.wait([&] { return answer->done.load(); });
  if (!answer->done) return CL_DEVICE_NOT_AVAILABLE;
  binary = std::move(answer->binary);
  return answer->error;
}

}  // namespace remotecl
