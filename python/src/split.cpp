#include <pybind11/stl.h>

#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "handles.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

using SliceTuple = std::tuple<cl_uint, bool, std::uint64_t, std::uint64_t, std::uint64_t>;

std::vector<remotecl_slice> slices_of(const std::vector<SliceTuple>& tuples) {
  std::vector<remotecl_slice> slices;
  for (const auto& [argument, overwrites, item_bytes, before, after] : tuples) {
    slices.push_back({argument, overwrites ? 1u : 0u, item_bytes, before, after});
  }
  return slices;
}

// An OpenCL error code, and the event, which the caller owns. `offset` and `local` may be empty.
std::pair<int, Handle> enqueue_split(const std::vector<Handle>& queues, Handle kernel, cl_uint dimension,
                                     const std::vector<std::size_t>& offset, const std::vector<std::size_t>& global,
                                     const std::vector<std::size_t>& local, const std::vector<SliceTuple>& slices,
                                     const std::vector<Handle>& wait_for) {
  const auto targets = objects<cl_command_queue>(queues);
  const auto events = objects<cl_event>(wait_for);
  const std::vector<remotecl_slice> parts = slices_of(slices);
  const auto or_null = [](const auto& list) { return list.empty() ? nullptr : list.data(); };
  cl_event event = nullptr;
  const cl_int code = remotecl_enqueue_split(
      static_cast<cl_uint>(targets.size()), targets.data(), reinterpret_cast<cl_kernel>(kernel), dimension,
      static_cast<cl_uint>(global.size()), or_null(offset), global.data(), or_null(local),
      static_cast<cl_uint>(parts.size()), parts.data(), static_cast<cl_uint>(events.size()), or_null(events), &event);
  return {code, reinterpret_cast<Handle>(event)};
}

}  // namespace

void bind_split(py::module_& module) {
  module.def("enqueue_split", &enqueue_split, py::arg("queues"), py::arg("kernel"), py::arg("dimension"),
             py::arg("offset"), py::arg("global_size"), py::arg("local_size"), py::arg("slices"), py::arg("wait_for"),
             py::call_guard<py::gil_scoped_release>(),
             "Divides a kernel among queues; returns an OpenCL error code and the event.");
}

}  // namespace remotecl::python
