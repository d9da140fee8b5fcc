#include <pybind11/stl.h>

#include <utility>
#include <vector>

#include "bindings.h"
#include "handles.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

int set_content_size(Handle buffer, Handle content_size_buffer) {
  return remotecl_set_content_size(reinterpret_cast<cl_mem>(buffer), reinterpret_cast<cl_mem>(content_size_buffer));
}

// An OpenCL error code, and the event, which the caller owns.
std::pair<int, Handle> prefetch(Handle device, const std::vector<Handle>& memory, const std::vector<Handle>& wait_for) {
  const auto buffers = objects<cl_mem>(memory);
  const auto events = objects<cl_event>(wait_for);
  cl_event event = nullptr;
  const cl_int code =
      remotecl_prefetch(reinterpret_cast<cl_device_id>(device), static_cast<cl_uint>(buffers.size()), buffers.data(),
                        static_cast<cl_uint>(events.size()), events.empty() ? nullptr : events.data(), &event);
  return {code, reinterpret_cast<Handle>(event)};
}

}  // namespace

void bind_memory(py::module_& module) {
  using release_gil = py::call_guard<py::gil_scoped_release>;
  module.def("set_content_size", &set_content_size, py::arg("buffer"), py::arg("content_size_buffer"), release_gil(),
             "Attaches a content-size buffer, or 0 for none; returns an OpenCL error code.");
  module.def("prefetch", &prefetch, py::arg("device"), py::arg("memory"), py::arg("wait_for"), release_gil(),
             "Brings memory objects to a device; returns an OpenCL error code and the event.");
}

}  // namespace remotecl::python
