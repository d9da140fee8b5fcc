// The Python module remotecl._core: libremotecl's own C interface, one to one. Text stays JSON here;
// the package turns it into Python types.
#include "bindings.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "libremotecl's own C interface. Use the functions of the package remotecl instead.";
  remotecl::python::bind_servers(module);
  remotecl::python::bind_interrupts(module);
  remotecl::python::bind_memory(module);
  remotecl::python::bind_network(module);
  remotecl::python::bind_stats(module);
  remotecl::python::bind_status(module);
  remotecl::python::bind_residency(module);
  remotecl::python::bind_device(module);
  remotecl::python::bind_trace(module);
#ifdef REMOTECL_HAS_SCHEDULING
  remotecl::python::bind_placement(module);
  remotecl::python::bind_split(module);
#endif
}
