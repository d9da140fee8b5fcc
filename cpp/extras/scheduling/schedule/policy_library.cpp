#include "extras/scheduling/schedule/policy_library.h"

#include <dlfcn.h>

#include <stdexcept>

#include "extras/scheduling/schedule/user_policy.h"

namespace remotecl::schedule {

std::unique_ptr<Policy> load_policy(const std::string& path, const std::string& options) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(std::string("cannot load the policy: ") + ::dlerror());
  std::shared_ptr<void> library(handle, [](void* loaded) { ::dlclose(loaded); });
  void* symbol = ::dlsym(handle, "remotecl_policy_get");
  if (!symbol) throw std::runtime_error(path + " does not export remotecl_policy_get");
  const auto get = reinterpret_cast<decltype(&remotecl_policy_get)>(symbol);
  return std::make_unique<UserPolicy>(get(), options, std::move(library));
}

}  // namespace remotecl::schedule
