#include "server/driver/driver_search.h"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "server/util/log.h"
#include "server/util/temporary_folder.h"

namespace remotecl::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSystemVendors = "/etc/OpenCL/vendors";

struct Maker {
  const char* name;
  const char* pci_id;                  // as /sys/class/drm has it
  const char* device;                  // in /dev, if the maker has one of its own
  const char* library;                 // part of the name of its library
  std::vector<const char*> libraries;  // where the library may be
  const char* remedy;
};

const std::vector<Maker>& makers() {
  static const std::vector<Maker> all{
      {"NVIDIA",
       "0x10de",
       "nvidia0",
       "libnvidia-opencl",
       {"libnvidia-opencl.so.1"},
       "install libnvidia-opencl.so.1 of its driver (Debian: nvidia-opencl-icd); a container needs it mounted: "
       "--gpus all, and NVIDIA_DRIVER_CAPABILITIES=compute,utility"},
      {"AMD",
       "0x1002",
       "kfd",
       "libamdocl64",
       {"libamdocl64.so", "/opt/rocm/lib/libamdocl64.so", "/opt/rocm/opencl/lib/libamdocl64.so"},
       "install ROCm's OpenCL (rocm-opencl), and put this user into the groups render and video"},
      {"Intel",
       "0x8086",
       nullptr,
       "libigdrcl",
       {"libigdrcl.so", "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so"},
       "install Intel's OpenCL (Debian: intel-opencl-icd), and put this user into the group render"},
  };
  return all;
}

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
  return line;
}

std::string device_of(const Maker& maker, const std::string& root) {
  std::error_code error;
  if (maker.device != nullptr && fs::exists(root + "/dev/" + maker.device, error)) {
    return std::string("/dev/") + maker.device;
  }
  const std::string nodes = root + "/dev/dri/";
  for (const auto& entry : fs::directory_iterator(root + "/sys/class/drm", error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("renderD") || first_line(entry.path() / "device" / "vendor") != maker.pci_id) continue;
    if (fs::exists(nodes + name, error)) return "/dev/dri/" + name;
  }
  return {};
}

// The drivers that a loader finds there.
std::vector<std::string> drivers_in(const std::string& vendors) {
  std::vector<fs::path> files;
  std::error_code error;
  if (vendors.ends_with(".icd")) {
    files.push_back(vendors);
  } else if (!fs::is_directory(vendors, error)) {
    return {vendors};  // a library
  }
  for (const auto& entry : fs::directory_iterator(vendors, error)) {
    if (entry.path().extension() == ".icd") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> drivers;
  for (const fs::path& file : files) {
    if (std::string driver = first_line(file); !driver.empty()) drivers.push_back(std::move(driver));
  }
  return drivers;
}

bool is_driver(const char* library) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return false;
  const bool is_one = ::dlsym(handle, "clGetExtensionFunctionAddress") != nullptr;
  ::dlclose(handle);
  return is_one;
}

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void restore(const char* name, const std::optional<std::string>& value) {
  if (value) {
    ::setenv(name, value->c_str(), 1);
  } else {
    ::unsetenv(name);
  }
}

}  // namespace

std::vector<VisibleGpus> visible_gpus(const std::string& root) {
  std::vector<VisibleGpus> gpus;
  for (const Maker& maker : makers()) {
    if (std::string device = device_of(maker, root); !device.empty()) {
      gpus.push_back({maker.name, std::move(device), maker.remedy});
    }
  }
  return gpus;
}

std::vector<std::string> unserved(const std::vector<VisibleGpus>& gpus, const std::vector<std::string>& drivers) {
  std::vector<std::string> texts;
  for (const VisibleGpus& gpu : gpus) {
    const auto is_for_it = [&gpu](const std::string& driver) { return driver.find(gpu.maker) != std::string::npos; };
    if (std::any_of(drivers.begin(), drivers.end(), is_for_it)) continue;
    texts.push_back(gpu.shown_by + " shows a GPU of " + gpu.maker + " that no OpenCL driver serves: " + gpu.remedy);
  }
  return texts;
}

DriverSearch::DriverSearch(const std::string& root, const std::vector<std::string>& own)
    : vendors_(variable("OCL_ICD_VENDORS")), file_names_(variable("OCL_ICD_FILENAMES")) {
  const std::optional<std::string> chosen = vendors_ ? vendors_ : variable("OPENCL_VENDOR_PATH");
  std::error_code error;
  std::vector<std::string> drivers;
  if (chosen || fs::is_directory(kSystemVendors, error)) drivers = drivers_in(chosen.value_or(kSystemVendors));
  const auto names = [&drivers](std::string_view library) {
    return std::any_of(drivers.begin(), drivers.end(),
                       [library](const std::string& driver) { return driver.find(library) != std::string::npos; });
  };
  std::istringstream libraries(file_names_.value_or(""));
  for (std::string library; std::getline(libraries, library, ':');) {
    const bool is_own = library.find("libremotecl") != std::string::npos;
    if (!library.empty() && !is_own && !names(library)) drivers.push_back(added_.emplace_back(library));
  }
  if (!chosen) {
    for (const Maker& maker : makers()) {
      if (names(maker.library) || device_of(maker, root).empty()) continue;
      const auto found = std::find_if(maker.libraries.begin(), maker.libraries.end(), is_driver);
      if (found == maker.libraries.end()) continue;
      drivers.push_back(added_.emplace_back(*found));
      log_info("{} is used although no .icd file names it", *found);
    }
  }
  for (const std::string& library : own) drivers.push_back(added_.emplace_back(library));
  if (!added_.empty()) make_folder(drivers);
}

void DriverSearch::make_folder(const std::vector<std::string>& drivers) {
  std::string name = (temporary_folder() / "remotecl-drivers-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    log_warning("cannot make {}, so these OpenCL drivers are not used: {}; {}", name, added_.front(),
                std::strerror(errno));
    return;
  }
  folder_ = std::move(name);
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    // Loaders that sort do so by file name.
    const std::string number = std::to_string(1000 + i);
    std::ofstream(folder_ + "/" + number + ".icd") << drivers[i] << '\n';
  }
  ::setenv("OCL_ICD_VENDORS", folder_.c_str(), 1);
  ::unsetenv("OCL_ICD_FILENAMES");
}

DriverSearch::~DriverSearch() {
  if (folder_.empty()) return;
  restore("OCL_ICD_VENDORS", vendors_);
  restore("OCL_ICD_FILENAMES", file_names_);
  std::error_code error;
  fs::remove_all(folder_, error);
}

}  // namespace remotecl::server
