#include <memory>
#include <stdexcept>

#include "bindings.h"
#include "interrupts.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

[[noreturn]] void fail(char* error) {
  std::string text = take_text(error);  // JSON of a string
  if (text.empty()) text = "\"remotecl cannot be used in this process\"";
  throw std::runtime_error(text);
}

// A connection that asks one server for its status. A question that is interrupted goes on; the next one waits for it.
class Monitor {
 public:
  explicit Monitor(const std::string& server)
      : open_(interruptibly([server] {
          char* error = nullptr;
          remotecl_monitor* const monitor = remotecl_monitor_open(server.c_str(), &error);
          if (monitor == nullptr) fail(error);
          return std::make_shared<Open>(monitor);
        })) {}
  std::string status_json() {
    return ask([](remotecl_monitor* monitor, char** error) { return remotecl_monitor_status_json(monitor, error); });
  }
  std::string kick(std::uint64_t session) {
    return ask(
        [session](remotecl_monitor* monitor, char** error) { return remotecl_monitor_kick(monitor, session, error); });
  }
  void close() { open_.reset(); }

 private:
  struct Open {
    explicit Open(remotecl_monitor* monitor) : monitor(monitor) {}
    ~Open() { remotecl_monitor_close(monitor); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

    remotecl_monitor* const monitor;
    Mutex mutex;  // held while the monitor is asked, one question at a time
  };

  template <class Question>
  std::string ask(Question question) {
    if (open_ == nullptr) throw std::runtime_error("\"the monitor is closed\"");
    return interruptibly([open = open_, question] {
      const MutexLock lock(open->mutex);
      char* error = nullptr;
      char* text = question(open->monitor, &error);
      if (text == nullptr) fail(error);
      return take_text(text);
    });
  }

  std::shared_ptr<Open> open_;
};

}  // namespace

void bind_status(py::module_& module) {
  using release_gil = py::call_guard<py::gil_scoped_release>;
  module.def(
      "status_json", [] { return interruptibly([] { return take_text(remotecl_status_json()); }); },
      "What the servers of this process tell of themselves, as JSON.");
  py::class_<Monitor>(module, "Monitor", "Asks one server for its status, without a session. Errors are JSON texts.")
      .def(py::init<const std::string&>(), py::arg("server"))
      .def("status_json", &Monitor::status_json, "One round trip.")
      .def("kick", &Monitor::kick, py::arg("session"), "Ends a session; what became of that, as JSON.")
      .def("close", &Monitor::close, release_gil(), "Closes the connection.");
}

}  // namespace remotecl::python
