#include "bindings.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

// `buffer` is a cl_mem as an integer (PyOpenCL's int_ptr), 0 for every live buffer.
std::string residency_json(std::uintptr_t buffer) {
  return take_text(remotecl_residency_json(reinterpret_cast<cl_mem>(buffer)));
}

}  // namespace

void bind_residency(py::module_& module) {
  module.def("residency_json", &residency_json, py::arg("buffer") = 0, py::call_guard<py::gil_scoped_release>(),
             "Who holds which bytes of a buffer, as JSON.");
}

}  // namespace remotecl::python
