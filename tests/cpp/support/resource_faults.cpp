#include "support/resource_faults.h"

#include <stdexcept>
#include <utility>

#include "support/fault_file.h"

namespace remotecl::testing {
namespace {

ResourceFaultsState* make_state(const std::string& path) {
  make_fault_file<ResourceFaultsState>(path);
  auto* const state = map_fault_file<ResourceFaultsState>(path.c_str());
  if (state == nullptr) throw std::runtime_error("cannot use " + path);
  return state;
}

}  // namespace

ResourceFaults::ResourceFaults(std::string path) : path_(std::move(path)), state_(make_state(path_)) {}

ResourceFaults::~ResourceFaults() {
  end();
  ::unlink(path_.c_str());
}

std::string ResourceFaults::setting() const { return "REMOTECL_TEST_RESOURCE_FAULTS=" + path_; }

void ResourceFaults::begin(Kind kind, bool of_session_process, std::uint64_t first, std::uint64_t last) {
  state_->first = first;
  state_->last = last;
  state_->calls = state_->failed = 0;
  state_->closed = 0;
  state_->of_session_process = of_session_process;
  state_->kind = kind;
}

std::uint64_t ResourceFaults::end() {
  state_->kind = kNone;
  return state_->failed;
}

std::uint64_t ResourceFaults::calls() const { return state_->calls; }

}  // namespace remotecl::testing
