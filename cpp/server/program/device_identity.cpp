#include "server/program/device_identity.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

namespace remotecl::server {

void add_part(std::string& text, std::string_view part) {
  text += std::to_string(part.size());
  text += ':';
  text += part;
}

namespace {

// Answers that vary over time or between equal devices.
constexpr auto kPassing = std::to_array<std::uint32_t>({
    CL_DEVICE_AVAILABLE, CL_DEVICE_REFERENCE_COUNT, 0x106A, 0x106B, 0x106C, 0x106D, 0x106E,  // cl_khr_device_uuid
    0x4008, 0x4009,          // NVIDIA: where it is plugged in
    0x4036, 0x4037, 0x4039,  // AMD: offset of its timer, where it is plugged in, free memory
    0x410F,                  // cl_khr_pci_bus_info
});

// Prefixes of variables that drivers and their compilers read.
constexpr auto kPrefixes = std::to_array<std::string_view>(
    {"POCL_", "OCL_",     "OPENCL_", "OPEN_CL_", "CL_",   "CUDA_", "NVIDIA_", "NV_",    "HSA_",
     "ROC_",  "AMD_",     "GPU_",    "HIP_",     "ZE_",   "SYCL_", "NEO",     "IGC_",   "INTEL_",
     "MESA_", "RUSTICL_", "LP_",     "GALLIUM_", "CLVK_", "VK_",   "LLVM_",   "LIBGL_", "__GL_"});
// The folders of drivers' caches, which differ between sessions.
constexpr auto kCacheFolders = std::to_array<std::string_view>({"POCL_CACHE_DIR=", "CUDA_CACHE_PATH="});

bool begins_with_one(std::string_view text, const auto& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](std::string_view each) { return text.starts_with(each); });
}

void add_number(std::string& text, std::uint64_t number) { add_part(text, std::to_string(number)); }

std::string environment() {
  std::vector<std::string_view> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    if (begins_with_one(*at, kPrefixes) && !begins_with_one(*at, kCacheFolders)) variables.emplace_back(*at);
  }
  std::sort(variables.begin(), variables.end());
  std::string text;
  for (const std::string_view each : variables) add_part(text, each);
  return text;
}

// The device's name identifies the processor, but not which of its features a virtual machine offers.
std::string processor_features() {
  std::string text;
  add_number(text, ::getauxval(AT_HWCAP));
  add_number(text, ::getauxval(AT_HWCAP2));
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const auto look = [&](unsigned leaf, unsigned part) {
    if (__get_cpuid_count(leaf, part, &a, &b, &c, &d) == 0) a = b = c = d = 0;
  };
  look(1, 0);  // omits the number of the core
  for (const unsigned each : {a, c, d}) add_number(text, each);
  look(7, 0);
  for (const unsigned each : {b, c, d}) add_number(text, each);
  look(7, 1);
  add_number(text, a);
  look(0x80000001, 0);
  for (const unsigned each : {c, d}) add_number(text, each);
#endif
  return text;
}

// The linker's digest of the object's content; empty if it has none.
std::string_view build_id(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(object.dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (static_cast<std::size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
      const char* const name = at + sizeof note;
      const char* const content = name + padded(note.n_namesz);
      if (content + padded(note.n_descsz) > end) break;
      if (note.n_type == NT_GNU_BUILD_ID && std::string_view(name, note.n_namesz) == std::string_view("GNU\0", 4)) {
        return {content, note.n_descsz};
      }
      at = content + padded(note.n_descsz);
    }
  }
  return {};
}

std::string identity_of(const dl_phdr_info& object) {
  std::string text;
  const std::string_view id = build_id(object);
  add_part(text, id);
  if (!id.empty()) return text;
  const std::string_view path = object.dlpi_name;
  add_part(text, path.substr(path.rfind('/') + 1));
  struct stat status {};
  if (::stat(path.empty() ? "/proc/self/exe" : object.dlpi_name, &status) != 0) return text;
  add_number(text, static_cast<std::uint64_t>(status.st_size));
  add_number(text, static_cast<std::uint64_t>(status.st_mtim.tv_sec));
  add_number(text, static_cast<std::uint64_t>(status.st_mtim.tv_nsec));
  return text;
}

std::string find_loaded_code() {
  std::vector<std::string> objects;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* to) {
        static_cast<std::vector<std::string>*>(to)->push_back(identity_of(*object));
        return 0;
      },
      &objects);
  std::sort(objects.begin(), objects.end());
  std::string text;
  for (const std::string& each : objects) add_part(text, each);
  return text;
}

}  // namespace

const std::string& loaded_code() {
  static const std::string code = find_loaded_code();
  return code;
}

Digest device_identity(const Device& device, const std::string& code) {
  std::string text;
  const auto add_answers = [&text](const std::vector<InfoAnswer>& answers) {
    for (const InfoAnswer& answer : answers) {
      if (std::find(kPassing.begin(), kPassing.end(), answer.name) != kPassing.end()) continue;
      add_number(text, answer.name);
      add_part(text, as_text(answer.value));
    }
    add_number(text, 0);
  };
  add_part(text, REMOTECL_VERSION);
  add_answers(device.traits().platform_info);
  add_answers(device.traits().info);
  add_part(text, device.traits().is_processor ? processor_features() : "");
  add_part(text, environment());
  add_part(text, code);
  return sha256(as_bytes(text));
}

}  // namespace remotecl::server
