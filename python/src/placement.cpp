#include <pybind11/stl.h>

#include <optional>
#include <utility>

#include "bindings.h"
#include "interrupts.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

// The device's handle, and "" or the JSON text of the error.
std::pair<std::uintptr_t, std::string> automatic_device(const std::optional<std::string>& policy) {
  return interruptibly([policy] {
    char* error = nullptr;
    const cl_device_id device = remotecl_auto(policy ? policy->c_str() : nullptr, &error);
    return std::pair(reinterpret_cast<std::uintptr_t>(device), take_text(error));
  });
}

// `event` is a cl_event as an integer (PyOpenCL's int_ptr).
std::string explain_event_json(std::uintptr_t event) {
  return take_text(remotecl_explain_event(reinterpret_cast<cl_event>(event)));
}

}  // namespace

void bind_placement(py::module_& module) {
  module.def("automatic_device", &automatic_device, py::arg("policy"),
             "Lists the automatic device; returns it, or 0, and an empty string, or the error as JSON.");
  module.def("explain_event_json", &explain_event_json, py::arg("event"), py::call_guard<py::gil_scoped_release>(),
             "Why a kernel runs where it does, as JSON.");
}

}  // namespace remotecl::python
