#include "interrupts.h"

#include "bindings.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

// Written when the module is loaded, and only read after that. The guard of a static in on_main_thread would be held
// while Python code that initializes it lets other threads run, and these would wait for the guard with the GIL.
unsigned long main_thread = 0;

constexpr auto kLimitNs = static_cast<std::uint64_t>(std::chrono::nanoseconds(kSignalPeriod).count());

// Calls a function of PyOpenCL whose waits in libremotecl end early; what these leave behind goes to `left`.
py::object call_limited(const py::object& function, const py::tuple& arguments, const py::dict& options,
                        unsigned& left) {
  remotecl_limit_waits(kLimitNs);
  PyObject* const result = PyObject_Call(function.ptr(), arguments.ptr(), options.ptr());
  left = remotecl_limit_waits(0);
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

// `wait` is PyOpenCL's wait for `what`, and may be called again.
void wait(const py::object& function, const py::object& what) {
  if (!on_main_thread()) {
    function(what);
    return;
  }
  const py::tuple arguments = py::make_tuple(what);
  for (unsigned left = REMOTECL_WAIT_OVER; (left & REMOTECL_WAIT_OVER) != 0;) {
    call_limited(function, arguments, py::dict(), left);
    if ((left & REMOTECL_WAIT_OVER) != 0) check_signals();
  }
}

bool has_ended(std::uintptr_t event) { return remotecl_has_ended(reinterpret_cast<cl_event>(event)) != 0; }

// `enqueue` is a function of PyOpenCL that may block. Its result, and what it has left behind.
std::pair<py::object, unsigned> enqueue(const py::object& function, const py::object& arguments,
                                        const py::object& options) {
  const py::tuple in_order(arguments);
  const py::dict by_name(options);
  unsigned left = 0;
  if (!on_main_thread()) {
    remotecl_limit_waits(0);  // what earlier calls have left is no news
    py::object result = function(*in_order, **by_name);
    left = remotecl_limit_waits(0);
    return {std::move(result), left};
  }
  py::object result = call_limited(function, in_order, by_name, left);
  return {std::move(result), left};
}

}  // namespace

bool on_main_thread() { return PyThread_get_thread_ident() == main_thread; }

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void bind_interrupts(py::module_& module) {
  main_thread = py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
  module.attr("WAIT_OVER") = REMOTECL_WAIT_OVER;
  module.attr("WRITE_GOES_ON") = REMOTECL_WRITE_GOES_ON;
  module.def("wait", &wait, py::arg("function"), py::arg("what"),
             "Calls PyOpenCL's wait for something; Ctrl-C interrupts it.");
  module.def("has_ended", &has_ended, py::arg("event"), "Whether an event has ended, as far as this process knows.");
  module.def("enqueue", &enqueue, py::arg("function"), py::arg("arguments"), py::arg("options"),
             "Calls a function of PyOpenCL that may block, for a moment at most; its result and what goes on.");
}

}  // namespace remotecl::python
