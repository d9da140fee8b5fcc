#pragma once

#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "icd/automatic_device.h"
#include "icd/fixture.h"

namespace remotecl::testing {

// Why the kernel of this event runs where it does.
inline nlohmann::json explain(cl_event event) {
  char* text = library_function<decltype(remotecl_explain_event)>("remotecl_explain_event")(event);
  nlohmann::json result = text == nullptr ? nlohmann::json() : nlohmann::json::parse(text);
  library_function<decltype(remotecl_free)>("remotecl_free")(text);
  return result;
}

class AutomaticDeviceTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 1000;

  static std::vector<int> numbers(int first = 0) {
    std::vector<int> result(kCount);
    std::iota(result.begin(), result.end(), first);
    return result;
  }
  explicit AutomaticDeviceTest(const char* policy = "round-robin") : device_(automatic_device(policy)) {}

  const cl_device_id device_;
  const Owned<cl_context> context_ = make_context({device_});
  const Owned<cl_program> program_ = build(context_, kSource);
};

}  // namespace remotecl::testing
