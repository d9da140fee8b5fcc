#include "server/program.h"

#include <utility>

#include "server/output_capture.h"

namespace remotecl::server {

Program::Program(Bytes code, const Device* binary_device, std::shared_ptr<std::atomic<std::uint64_t>> session_bytes)
    : code_(as_text(code)), binary_device_(binary_device), session_bytes_(std::move(session_bytes)) {
  *session_bytes_ += code_.size();
  look_for_prints(code_);
}

Program::~Program() {
  *session_bytes_ -= code_.size();
  for (const Built& built : built_) {
    if (built.program != nullptr) clReleaseProgram(built.program);
  }
}

cl_int Program::make(Device& device, cl_program& program) const {
  cl_int error = CL_SUCCESS;
  program = nullptr;
  const cl_context context = device.context(error);
  if (context == nullptr) return error;
  const std::size_t size = code_.size();
  if (binary_device_ == nullptr) {
    const char* text = code_.data();
    program = clCreateProgramWithSource(context, 1, &text, &size, &error);
  } else if (binary_device_ == &device) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(code_.data());
    const cl_device_id id = device.id();
    cl_int status = CL_SUCCESS;
    program = clCreateProgramWithBinary(context, 1, &id, &size, &bytes, &status, &error);
    if (error == CL_SUCCESS && status != CL_SUCCESS) error = status;
  } else {
    error = CL_INVALID_BINARY;
  }
  if (error != CL_SUCCESS && program != nullptr) {
    clReleaseProgram(program);
    program = nullptr;
  }
  return error;
}

void Program::look_for_prints(std::string_view text) {
  if (!prints() && mentions_printf(text)) prints_.store(true, std::memory_order_relaxed);
}

void Program::set_built(const Device& device, cl_program program, bool succeeded) {
  if (built_.size() <= device.index()) built_.resize(device.index() + 1);
  Built& built = built_[device.index()];
  if (built.program != nullptr) clReleaseProgram(built.program);
  built = {program, succeeded};
}

cl_program Program::native(const Device& device) const {
  return device.index() < built_.size() ? built_[device.index()].program : nullptr;
}

cl_program Program::executable(const Device& device) const {
  return device.index() < built_.size() && built_[device.index()].succeeded ? built_[device.index()].program : nullptr;
}

}  // namespace remotecl::server
