#include <pybind11/stl.h>

#include <vector>

#include "bindings.h"
#include "interrupts.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

// Returns "" or the JSON text of the error.
std::string start(std::uint64_t records_max) {
  return interruptibly([records_max] {
    char* error = nullptr;
    const int result = remotecl_trace_start(records_max, &error);
    std::string text = take_text(error);
    if (result != 0 && text.empty()) text = "\"tracing failed without a reason\"";
    return result == 0 ? "" : text;
  });
}

std::string stop(double wait_s) {
  return interruptibly([wait_s] { return take_text(remotecl_trace_stop(wait_s)); });
}

// `events` are cl_events as integers (PyOpenCL's int_ptr).
std::string events_json(const std::vector<std::uintptr_t>& events) {
  std::vector<cl_event> handles;
  for (const std::uintptr_t event : events) handles.push_back(reinterpret_cast<cl_event>(event));
  return take_text(remotecl_events_json(handles.data(), handles.size()));
}

}  // namespace

void bind_trace(py::module_& module) {
  using release_gil = py::call_guard<py::gil_scoped_release>;
  module.attr("TRACE_RECORDS") = REMOTECL_TRACE_RECORDS;
  module.def("trace_start", &start, py::arg("records_max"),
             "Begins a trace; returns an empty string, or the error as JSON.");
  module.def("trace_stop", &stop, py::arg("wait_s"), "Ends the trace and returns it as JSON.");
  module.def("events_json", &events_json, py::arg("events"), release_gil(), "What events are, as JSON.");
}

}  // namespace remotecl::python
