#include <CL/cl_icd.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "bindings.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

// A text property of a device of any driver. Goes through the dispatch table that every ICD object begins
// with, because the process may have any loader, or several.
std::string device_text(std::uintptr_t device_handle, cl_device_info property) {
  const auto device = reinterpret_cast<cl_device_id>(device_handle);
  const cl_icd_dispatch* dispatch = *reinterpret_cast<const cl_icd_dispatch* const*>(device_handle);
  const auto require = [property](cl_int status) {
    if (status == CL_SUCCESS) return;
    throw std::invalid_argument("clGetDeviceInfo(" + std::to_string(property) + ") failed with " +
                                std::to_string(status) + "; only remotecl's devices have this property");
  };
  std::size_t size = 0;
  require(dispatch->clGetDeviceInfo(device, property, 0, nullptr, &size));
  std::string text(size, '\0');
  require(dispatch->clGetDeviceInfo(device, property, size, text.data(), nullptr));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace

void bind_device(py::module_& module) {
  using release_gil = py::call_guard<py::gil_scoped_release>;
  module.def(
      "device_server", [](std::uintptr_t device) { return device_text(device, CL_DEVICE_REMOTECL_SERVER); },
      py::arg("device"), release_gil(), "\"host:port\" of the server that a device is on.");
  module.def(
      "device_platform", [](std::uintptr_t device) { return device_text(device, CL_DEVICE_REMOTECL_PLATFORM); },
      py::arg("device"), release_gil(), "Name of the native platform of a device on its server.");
}

}  // namespace remotecl::python
