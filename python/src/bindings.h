#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "remotecl/remotecl.h"

namespace remotecl::python {

// One function per noun; each adds that noun's functions to the module.
void bind_device(pybind11::module_& module);
void bind_interrupts(pybind11::module_& module);
void bind_memory(pybind11::module_& module);
void bind_network(pybind11::module_& module);
void bind_placement(pybind11::module_& module);
void bind_residency(pybind11::module_& module);
void bind_servers(pybind11::module_& module);
void bind_split(pybind11::module_& module);
void bind_stats(pybind11::module_& module);
void bind_status(pybind11::module_& module);
void bind_trace(pybind11::module_& module);

// Takes over a string that libremotecl allocated. An empty result stands for a failed allocation over there.
inline std::string take_text(char* text) {
  std::string copy = text == nullptr ? "" : text;
  remotecl_free(text);
  return copy;
}

}  // namespace remotecl::python
