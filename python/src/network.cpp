#include <pybind11/stl.h>

#include <cstddef>
#include <utility>

#include "bindings.h"
#include "handles.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

// The network, which the caller owns, and an OpenCL error code.
std::pair<Handle, int> create_network(Handle context, Handle device, cl_uint sockets, cl_uint ring_bytes) {
  const remotecl_network_properties properties{sizeof properties, sockets, ring_bytes};
  cl_int error = CL_SUCCESS;
  const cl_mem network = remotecl_create_network(reinterpret_cast<cl_context>(context),
                                                 reinterpret_cast<cl_device_id>(device), &properties, &error);
  return {reinterpret_cast<Handle>(network), error};
}

int stop_network(Handle network) { return remotecl_stop_network(reinterpret_cast<cl_mem>(network)); }

// The number of groups, and an OpenCL error code.
std::pair<std::size_t, int> network_groups(Handle device) {
  std::size_t groups = 0;
  const int code = remotecl_network_groups(reinterpret_cast<cl_device_id>(device), &groups);
  return {groups, code};
}

}  // namespace

void bind_network(py::module_& module) {
  using release_gil = py::call_guard<py::gil_scoped_release>;
  module.def("create_network", &create_network, py::arg("context"), py::arg("device"), py::arg("sockets"),
             py::arg("ring_bytes"), release_gil(), "Makes a network; returns it and an OpenCL error code.");
  module.def("stop_network", &stop_network, py::arg("network"), release_gil(),
             "Closes a network's sockets; returns an OpenCL error code.");
  module.def("network_groups", &network_groups, py::arg("device"), release_gil(),
             "How many work-groups the device runs at once, and an OpenCL error code.");
}

}  // namespace remotecl::python
