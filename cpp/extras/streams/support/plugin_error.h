#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace remotecl::plugins {

// The failure of a call: a code of OpenCL and the cause.
class PluginError : public std::runtime_error {
 public:
  PluginError(std::int32_t code, const std::string& why) : std::runtime_error(why), code_(code) {}
  std::int32_t code() const { return code_; }

 private:
  std::int32_t code_;
};

// The meaning of the codes here.
constexpr std::int32_t kGone = -2;         // CL_DEVICE_NOT_AVAILABLE: the source or sink is not there, or silent
constexpr std::int32_t kBroken = -5;       // CL_OUT_OF_RESOURCES: data that cannot be understood
constexpr std::int32_t kWrongName = -30;   // CL_INVALID_VALUE
constexpr std::int32_t kNotAllowed = -59;  // CL_INVALID_OPERATION: no --plugin-allow names it
constexpr std::int32_t kTooSmall = -61;    // CL_INVALID_BUFFER_SIZE

}  // namespace remotecl::plugins
