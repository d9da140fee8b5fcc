#include "bindings.h"
#include "interrupts.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

// Returns "" or the JSON text of the error. One that is interrupted goes on, and its servers may be connected at last.
std::string connect(const std::string& servers) {
  return interruptibly([servers] {
    char* error = nullptr;
    const int result = remotecl_connect(servers.c_str(), &error);
    std::string text = take_text(error);
    if (result != 0 && text.empty()) text = "\"connecting failed without a reason\"";
    return result == 0 ? "" : text;
  });
}

std::string disconnect(const std::string& server) {
  char* error = nullptr;
  const int result = remotecl_disconnect(server.c_str(), &error);
  const std::string text = take_text(error);
  return result == 0 ? "" : text;
}

std::string servers_json() {
  return interruptibly([] { return take_text(remotecl_servers_json()); });
}

// PyOpenCL asks for platforms with the GIL held; who is connected already answers at once.
std::uintptr_t connect_configured() {
  return interruptibly([] { return reinterpret_cast<std::uintptr_t>(remotecl_platform()); });
}

}  // namespace

void bind_servers(py::module_& module) {
  using release_gil = py::call_guard<py::gil_scoped_release>;
  module.def(
      "version", [] { return std::string(remotecl_version()); }, "Version of libremotecl.so.");
  module.def(
      "build", [] { return std::string(REMOTECL_BUILD); }, "How the package's native parts were compiled.");
  module.def("protocol_version", &remotecl_protocol_version, "Version of the protocol that libremotecl.so speaks.");
  module.def("connect", &connect, py::arg("servers"),
             "Connects to \"host[:port],...\"; returns an empty string, or the error as JSON.");
  module.def(
      "connect_configured", &connect_configured,
      "Connects to the servers in REMOTECL_SERVERS, unless that has been tried; returns the platform's handle, or 0 "
      "if no server is known.");
  module.def("disconnect", &disconnect, py::arg("server"), release_gil(),
             "Ends the connection to a server; returns an empty string, or the error as JSON.");
  module.def("expect_shutdown", &remotecl_expect_shutdown, py::arg("address"), release_gil(),
             "The caller is about to stop this server: its loss is no news.");
  module.def(
      "link_servers",
      [](std::uintptr_t context) { return remotecl_link_servers(reinterpret_cast<cl_context>(context)); },
      py::arg("context"), release_gil(),
      "Begins to link all servers of a context with each other; returns an OpenCL error code.");
  module.def("servers_json", &servers_json, "Every server and its state, as JSON.");
}

}  // namespace remotecl::python
