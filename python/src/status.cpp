#include <memory>
#include <stdexcept>

#include "bindings.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

[[noreturn]] void fail(char* error) {
  std::string text = take_text(error);  // JSON of a string
  if (text.empty()) text = "\"remotecl cannot be used in this process\"";
  throw std::runtime_error(text);
}

// A connection that asks one server for its status. Waits for the network, so all of it without the GIL.
class Monitor {
 public:
  explicit Monitor(const std::string& server) {
    char* error = nullptr;
    monitor_.reset(remotecl_monitor_open(server.c_str(), &error));
    if (monitor_ == nullptr) fail(error);
  }
  std::string status_json() {
    if (monitor_ == nullptr) throw std::runtime_error("\"the monitor is closed\"");
    char* error = nullptr;
    char* text = remotecl_monitor_status_json(monitor_.get(), &error);
    if (text == nullptr) fail(error);
    return take_text(text);
  }
  std::string kick(std::uint64_t session) {
    if (monitor_ == nullptr) throw std::runtime_error("\"the monitor is closed\"");
    char* error = nullptr;
    char* text = remotecl_monitor_kick(monitor_.get(), session, &error);
    if (text == nullptr) fail(error);
    return take_text(text);
  }
  void close() { monitor_.reset(); }

 private:
  struct Close {
    void operator()(remotecl_monitor* monitor) const { remotecl_monitor_close(monitor); }
  };
  std::unique_ptr<remotecl_monitor, Close> monitor_;
};

}  // namespace

void bind_status(py::module_& module) {
  using release_gil = py::call_guard<py::gil_scoped_release>;
  module.def(
      "status_json", [] { return take_text(remotecl_status_json()); }, release_gil(),
      "What the servers of this process tell of themselves, as JSON.");
  py::class_<Monitor>(module, "Monitor", "Asks one server for its status, without a session. Errors are JSON texts.")
      .def(py::init<const std::string&>(), py::arg("server"), release_gil())
      .def("status_json", &Monitor::status_json, release_gil(), "One round trip.")
      .def("kick", &Monitor::kick, py::arg("session"), release_gil(), "Ends a session; what became of that, as JSON.")
      .def("close", &Monitor::close, release_gil(), "Closes the connection.");
}

}  // namespace remotecl::python
