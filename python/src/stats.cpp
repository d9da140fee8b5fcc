#include "bindings.h"

namespace py = pybind11;

namespace remotecl::python {

void bind_stats(py::module_& module) {
  using release_gil = py::call_guard<py::gil_scoped_release>;
  module.def(
      "stats_json", [] { return take_text(remotecl_stats_json()); }, release_gil(),
      "What this process has counted, as JSON; asks nobody.");
  module.def(
      "operations_json", [] { return take_text(remotecl_operations_json()); }, release_gil(),
      "What lasts and is under way in this process, as JSON.");
}

}  // namespace remotecl::python
