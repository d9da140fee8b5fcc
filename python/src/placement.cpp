#include <pybind11/stl.h>

#include <optional>
#include <utility>

#include "asked_policy.h"
#include "bindings.h"
#include "interrupts.h"

namespace py = pybind11;

namespace remotecl::python {
namespace {

// The device's handle, and "" or the JSON text of the error.
std::pair<std::uintptr_t, std::string> automatic_device(const std::optional<std::string>& policy) {
  return interruptibly([policy] {
    char* error = nullptr;
    const cl_device_id device = remotecl_auto(policy ? policy->c_str() : nullptr, &error);
    return std::pair(reinterpret_cast<std::uintptr_t>(device), take_text(error));
  });
}

// `event` is a cl_event as an integer (PyOpenCL's int_ptr).
std::string explain_event_json(std::uintptr_t event) {
  return take_text(remotecl_explain_event(reinterpret_cast<cl_event>(event)));
}

py::dict task_dict(const AskedPolicy::Question& question) {
  using namespace py::literals;
  return py::dict("kernel"_a = question.kernel, "work_items"_a = question.task.work_items,
                  "bytes"_a = question.task.bytes, "now"_a = question.task.now_s, "ready"_a = question.task.ready_s);
}

py::dict candidate_dict(const remotecl_policy_candidate& candidate) {
  using namespace py::literals;
  return py::dict("device"_a = candidate.device, "type"_a = candidate.type, "speed"_a = candidate.speed,
                  "memory"_a = candidate.memory_bytes, "free"_a = candidate.free_s, "transfer"_a = candidate.transfer_s,
                  "runs"_a = candidate.seconds, "finish"_a = candidate.finish_s, "missing"_a = candidate.missing_bytes,
                  "measured"_a = candidate.measured != 0, "queued"_a = candidate.queued);
}

py::object questions(AskedPolicy& policy) {
  py::list result;
  for (const AskedPolicy::Question& question : policy.take_questions()) {
    py::list candidates;
    for (const remotecl_policy_candidate& candidate : question.candidates) candidates.append(candidate_dict(candidate));
    result.append(py::make_tuple(question.size_class, task_dict(question), candidates));
  }
  return result;
}

}  // namespace

void bind_placement(py::module_& module) {
  module.def("automatic_device", &automatic_device, py::arg("policy"),
             "Lists the automatic device; returns it, or 0, and an empty string, or the error as JSON.");
  module.def("explain_event_json", &explain_event_json, py::arg("event"), py::call_guard<py::gil_scoped_release>(),
             "Why a kernel runs where it does, as JSON.");
  // Without releasing the GIL: a daemon thread that comes back from C when Python has ended would end the process.
  module.def(
      "policy_device_json", [](unsigned device) { return take_text(remotecl_policy_device(device)); },
      py::arg("device"), "The device that policies know by this number, as JSON.");
  py::class_<AskedPolicy, std::shared_ptr<AskedPolicy>>(module, "AskedPolicy")
      .def(py::init<std::string>(), py::arg("name"))
      .def("use", &AskedPolicy::use, "Makes it this process's policy; returns an empty string, or the error as JSON.")
      .def("descriptor", &AskedPolicy::descriptor, "Readable when there are questions, or the policy has ended.")
      .def("questions", &questions, "Takes them: (size class, task, candidates) each.")
      .def("answer", &AskedPolicy::answer, py::arg("kernel"), py::arg("size_class"), py::arg("devices"),
           "Devices that the tasks of a kernel and size class take in turn.")
      .def("has_ended", &AskedPolicy::has_ended, "Whether another policy has replaced it.");
}

}  // namespace remotecl::python
