#include "server/driver/native_driver.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <span>

#include "runtime/protocol/device_figures.h"
#include "runtime/protocol/frames.h"
#include "runtime/protocol/messages.h"
#include "server/driver/device_info_view.h"
#include "server/driver/driver_search.h"
#include "server/driver/large_stacks.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

// The same names as in extras/streams/driver.
constexpr std::string_view kPluginPlatform = "remotecl plugins";
constexpr const char* kPluginLogFunction = "remotecl_set_plugin_log";

struct Candidate {
  cl_platform_id platform;
  cl_device_id id;
  std::string name;
};

std::string device_text(cl_device_id device, cl_device_info name) {
  char text[512] = {};
  clGetDeviceInfo(device, name, sizeof text - 1, text, nullptr);
  return text;
}

std::string platform_name(cl_platform_id platform) {
  char name[256] = {};
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
  return name;
}

std::vector<cl_device_id> devices_of(cl_platform_id platform) {
  std::vector<cl_device_id> devices;
  // "CL_DEVICE_TYPE_ALL: All OpenCL devices available in the system, except for custom devices."
  for (const cl_device_type type : {cl_device_type{CL_DEVICE_TYPE_ALL}, cl_device_type{CL_DEVICE_TYPE_CUSTOM}}) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, type, 0, nullptr, &count) != CL_SUCCESS || count == 0) continue;
    std::vector<cl_device_id> some(count);
    if (clGetDeviceIDs(platform, type, count, some.data(), nullptr) != CL_SUCCESS) continue;
    // Drivers older than OpenCL 1.2 may treat an unknown type as "any", so a device may come twice.
    for (const cl_device_id id : some) {
      if (std::find(devices.begin(), devices.end(), id) == devices.end()) devices.push_back(id);
    }
  }
  return devices;
}

// The daemon's own driver of plugins has no log, so its lines go to the daemon's.
void take_plugin_log(cl_platform_id platform) {
  using Sink = void (*)(const char*);
  void* const set = clGetExtensionFunctionAddressForPlatform(platform, kPluginLogFunction);
  const Sink sink = [](const char* line) { log_warning("{}", line); };
  if (set != nullptr) reinterpret_cast<void (*)(Sink)>(set)(sink);
}

std::vector<Candidate> all_devices(const std::vector<std::string>& own_drivers) {
  const DriverSearch search("", own_drivers);
  const LargeStacks for_drivers;
  // Our own ICD may be registered on this machine. It must not answer here, or the daemon would serve other
  // daemons.
  ::setenv("REMOTECL_DISABLE", "1", 1);
  ::unsetenv("REMOTECL_SERVERS");
  // Otherwise NVIDIA's driver loads a kernel onto the device at its first launch and waits there until all running
  // kernels have ended, so a kernel that a running one waits for would never begin.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  std::vector<Candidate> candidates;
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return candidates;
  std::vector<cl_platform_id> platforms(count);
  if (count != 0) clGetPlatformIDs(count, platforms.data(), nullptr);
  for (const cl_platform_id platform : platforms) {
    const std::string name = platform_name(platform);
    if (name == "remotecl") continue;
    if (name == kPluginPlatform && !own_drivers.empty()) take_plugin_log(platform);
    for (const cl_device_id id : devices_of(platform)) {
      candidates.push_back({platform, id, device_text(id, CL_DEVICE_NAME)});
    }
  }
  return candidates;
}

// GPUs of this machine that are not among the candidates, as text for people.
std::vector<std::string> missing_gpus(const std::vector<Candidate>& candidates) {
  std::vector<std::string> drivers;
  for (const Candidate& candidate : candidates) {
    cl_device_type type = 0;
    clGetDeviceInfo(candidate.id, CL_DEVICE_TYPE, sizeof type, &type, nullptr);
    if ((type & CL_DEVICE_TYPE_GPU) == 0) continue;
    drivers.push_back(platform_name(candidate.platform) + ", " + device_text(candidate.id, CL_DEVICE_VENDOR));
  }
  return unserved(visible_gpus(), drivers);
}

bool matches(std::string_view entry, std::size_t index, const std::string& name) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  if (error == std::errc{} && end == entry.data() + entry.size()) return number == index;
  return name.find(entry) != std::string::npos;
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> entries;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view entry = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    if (!entry.empty()) entries.push_back(entry);
  }
  return entries;
}

std::vector<Candidate> select(std::string_view selection, const std::vector<Candidate>& candidates) {
  if (selection == "all") return candidates;
  std::vector<bool> chosen(candidates.size());
  const auto entries = split(selection);
  bool complete = !entries.empty();
  for (const std::string_view entry : entries) {
    bool found = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (matches(entry, i, candidates[i].name)) found = chosen[i] = true;
    }
    complete = complete && found;
  }
  if (!complete) {
    std::string text = "no device matches \"" + std::string(selection) + "\"; this machine has:";
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      text += (i == 0 ? " " : ", ") + std::to_string(i) + " (" + candidates[i].name + ")";
    }
    throw NoDevice(text);
  }
  std::vector<Candidate> result;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (chosen[i]) result.push_back(candidates[i]);
  }
  return result;
}

}  // namespace

NativeDriver::NativeDriver(const DeviceSelection& selection) {
  const auto candidates = all_devices(selection.drivers);
  for (const std::string& text : missing_gpus(candidates)) log_warning("{}", text);
  if (candidates.empty()) {
    throw NoDevice(
        "no OpenCL driver with a device was found; install one (the GPU maker's, or for a CPU device "
        "pocl-opencl-icd or pip install 'remotecl[local]') and check that /etc/OpenCL/vendors, or the folder in "
        "OCL_ICD_VENDORS, names it; remotecl doctor looks for what is wrong");
  }
  for (const auto& candidate : select(selection.devices, candidates)) {
    const auto index = static_cast<std::uint32_t>(devices_.size());
    devices_.push_back(std::make_unique<Device>(index, candidate.platform, candidate.id));
  }
  for (const auto& device : devices_) {
    const std::uint32_t has_binaries = device->traits().quirks.compiles_for_binary ? 0 : 1;
    device->say(kDeviceHasBinaries, std::as_bytes(std::span(&has_binaries, 1)));
    const cl_bool takes_any_sub_buffer = device->traits().quirks.takes_any_sub_buffer;
    device->say(kDeviceTakesAnySubBuffer, std::as_bytes(std::span(&takes_any_sub_buffer, 1)));
  }
}

std::vector<std::byte> NativeDriver::device_list(const std::function<bool(const Device&)>& is_visible,
                                                 std::uint64_t memory_max) const {
  std::deque<DeviceInfoView> infos, platform_infos;
  std::vector<DeviceDescription> descriptions;
  for (const auto& device : devices_) {
    if (!is_visible(*device)) continue;
    const auto& platform = platform_infos.emplace_back(device->traits().platform_info, UINT64_MAX);
    const auto& info = infos.emplace_back(device->traits().info, memory_max, device->said());
    descriptions.push_back({device->index(), platform.values(), info.values()});
  }
  ByteBuffer bytes;
  append_message(bytes, DeviceList{std::span<const DeviceDescription>(descriptions)});
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

}  // namespace remotecl::server
