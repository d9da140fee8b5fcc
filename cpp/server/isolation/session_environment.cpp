#include "server/isolation/session_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "runtime/containment/library_paths.h"

namespace remotecl::server {
namespace fs = std::filesystem;
namespace {

// Names, or prefixes of names. Other variables are not passed on.
constexpr auto kPassedOn = std::to_array<std::string_view>({"PATH=",    "LANG=",     "LC_",
                                                            "TZ=",      "LD_",       "OCL_",
                                                            "OPENCL_",  "OPEN_CL_",  "CL_",
                                                            "POCL_",    "PYOPENCL_", "CUDA_",
                                                            "NVIDIA_",  "NV_",       "__GL_",
                                                            "HSA_",     "ROC_",      "AMD_",
                                                            "GPU_",     "HIP_",      "ZE_",
                                                            "SYCL_",    "NEO",       "IGC_",
                                                            "INTEL_",   "LIBVA_",    "MESA_",
                                                            "RUSTICL_", "LIBGL_",    "GALLIUM_",
                                                            "LP_",      "CLVK_",     "VK_",
                                                            "OMP_",     "TBB_",      "HWLOC_",
                                                            "LLVM_",    "MALLOC_",   "GLIBC_TUNABLES=",
                                                            "ASAN_",    "TSAN_",     "UBSAN_",
                                                            "LSAN_",    "REMOTECL_"});
// Variables that say where secrets are.
constexpr auto kKept = std::to_array<std::string_view>({"REMOTECL_SERVERS="});

bool begins_with_one(std::string_view text, const auto& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](std::string_view each) { return text.starts_with(each); });
}

std::vector<std::string> folders_of(const std::string& folder) {
  const std::string cache = cache_folder(folder);
  return {"HOME=" + folder, "TMPDIR=" + folder, "XDG_CACHE_HOME=" + cache, "POCL_CACHE_DIR=" + cache + "/pocl",
          "CUDA_CACHE_PATH=" + cache + "/cuda",
          // hwloc, which PoCL uses, opens the root of the file system. This substitute has only /proc and
          // /sys.
          "HWLOC_FSROOT=" + folder + "/root", "HWLOC_THISSYSTEM=1"};
}

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> split_at_colons(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    if (end != at) parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

void add_registration(std::vector<std::string>& paths, const fs::path& file) {
  std::ifstream lines(file);
  std::string library;
  if (std::getline(lines, library)) add_library(paths, library);
  paths.push_back(file.string());
}

}  // namespace

std::string cache_folder(const std::string& folder) { return folder + "/cache"; }

std::vector<std::string> session_environment(const std::string& folder) {
  std::vector<std::string> environment = folders_of(folder);
  std::vector<std::string> names;
  names.reserve(environment.size());
  for (const std::string& each : environment) names.push_back(each.substr(0, each.find('=') + 1));
  for (char** at = environ; *at != nullptr; ++at) {
    if (begins_with_one(*at, kPassedOn) && !begins_with_one(*at, kKept) && !begins_with_one(*at, names)) {
      environment.emplace_back(*at);
    }
  }
  return environment;
}

std::vector<std::string> driver_paths() {
  std::vector<std::string> paths;
  for (const char* const name : {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"}) {
    const std::string path = setting(name);
    std::error_code error;
    if (!path.starts_with('/')) continue;
    paths.push_back(path);
    if (fs::path(path).extension() == ".icd") add_registration(paths, path);
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() == ".icd") add_registration(paths, at->path());
    }
  }
  std::error_code error;
  for (fs::directory_iterator at("/etc/OpenCL/vendors", error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".icd") add_registration(paths, at->path());
  }
  for (const std::string& library : split_at_colons(setting("OCL_ICD_FILENAMES"))) add_library(paths, library);
  add_loader_paths(paths);
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace remotecl::server
