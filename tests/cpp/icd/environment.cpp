#include "icd/environment.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "icd/opencl.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

namespace fs = std::filesystem;

Environment* g_environment = nullptr;

// The folder that the loader would read; where the variable names a file or library, that file's folder does
// not matter.
std::string vendors() {
  const char* configured = std::getenv("OCL_ICD_VENDORS");
  return configured == nullptr ? "/etc/OpenCL/vendors" : configured;
}

}  // namespace

Environment& Environment::get() { return *g_environment; }

void Environment::SetUp() {
  g_environment = this;
  register_drivers();
  std::string servers;
  // Daemons that run already, one for each that would be started: so that each can have another driver.
  if (const char* running = std::getenv("REMOTECL_TEST_SERVERS"); running != nullptr) {
    servers = running;
  } else {
    std::vector<std::string> options = daemon_options_;
    std::string query;
    if (speaks_tls_) {
      query = "?pin=" + Daemon::make_certificate(folder_);
      options.insert(options.end(), {"--tls", folder_ + "/certificate.pem", folder_ + "/key.pem"});
    }
    for (int i = 0; i < count_; ++i) {
      const auto& own = environments_.empty() ? daemon_environment_ : environments_[static_cast<std::size_t>(i)];
      daemons_.push_back(std::make_unique<Daemon>(own, options));
    }
    for (const auto& daemon : daemons_) {
      if (faults_) relays_.push_back(std::make_unique<FaultRelay>(daemon->address(), *faults_));
      servers += (servers.empty() ? "" : ",") + (faults_ ? relays_.back()->address() : daemon->address()) + query;
    }
  }
  ::setenv("REMOTECL_SERVERS", servers.c_str(), 1);
  ::unsetenv("REMOTECL_DISABLE");
  find_platforms();
}

void Environment::TearDown() {
  relays_.clear();
  daemons_.clear();
  if (!folder_.empty()) fs::remove_all(folder_);
}

void Environment::register_drivers() {
  folder_ = (fs::temp_directory_path() / "remotecl-icd-XXXXXX").string();
  if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("cannot make a folder for the .icd files");
  if (fs::is_directory(vendors())) {
    for (const auto& entry : fs::directory_iterator(vendors())) {
      if (entry.path().extension() == ".icd") fs::copy_file(entry.path(), folder_ / entry.path().filename());
    }
  }
  std::ofstream(folder_ + "/remotecl.icd") << REMOTECL_LIBRARY << '\n';
  ::setenv("OCL_ICD_VENDORS", folder_.c_str(), 1);
}

void Environment::find_platforms() {
  cl_uint count = 0;
  check(clGetPlatformIDs(0, nullptr, &count));
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr));
  for (cl_platform_id platform : platforms) {
    const std::string name = text(clGetPlatformInfo, platform, CL_PLATFORM_NAME);
    if (name == "remotecl") remote_ = platform;
  }
  if (remote_ == nullptr) throw std::runtime_error("the loader does not show the platform remotecl");
  check(clGetDeviceIDs(remote_, CL_DEVICE_TYPE_ALL, 0, nullptr, &count));
  all_devices_.resize(count);
  check(clGetDeviceIDs(remote_, CL_DEVICE_TYPE_ALL, count, all_devices_.data(), nullptr));
  std::string last;
  for (cl_device_id device : all_devices_) {
    const std::string server = text(clGetDeviceInfo, device, CL_DEVICE_REMOTECL_SERVER);
    if (server != last) devices_.push_back(device);
    last = server;
  }
  if (devices_.size() != static_cast<std::size_t>(count_)) throw std::runtime_error("not every daemon shows a device");
  // The driver that the daemons use themselves, to compare with.
  const std::string same = text(clGetDeviceInfo, devices_[0], CL_DEVICE_REMOTECL_PLATFORM);
  is_pocl_ = same == "Portable Computing Language";
  for (cl_platform_id platform : platforms) {
    if (text(clGetPlatformInfo, platform, CL_PLATFORM_NAME) == same) native_ = platform;
  }
  if (native_ != nullptr) check(clGetDeviceIDs(native_, CL_DEVICE_TYPE_ALL, 1, &native_device_, nullptr));
}

}  // namespace remotecl::testing
