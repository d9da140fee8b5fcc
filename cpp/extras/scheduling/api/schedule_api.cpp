// The automatic device and its placements, for remotecl.h.
#include <nlohmann/json.hpp>

#include "extras/scheduling/placement/scheduling.h"
#include "extras/scheduling/schedule/user_policy.h"
#include "icd/json_result.h"
#include "remotecl/remotecl.h"
#include "runtime/client/objects/event.h"
#include "runtime/client/objects/platform.h"

namespace {

using namespace remotecl;
using nlohmann::json;

json device_json(const Device* device) {
  if (device == nullptr) return nullptr;
  return {{"name", device->text(CL_DEVICE_NAME)},
          {"server", device->session().address().text()},
          {"index", device->index()}};
}

json decision_json(const Placement::Decision& decision) {
  const schedule::Placement& why = decision.why;
  return {{"kernel", decision.kernel},
          {"device", device_json(decision.device)},
          {"policy", decision.policy},
          {"reason", decision.reason},
          {"expected_s", why.estimate.finish - why.now},
          {"waits_s", why.ready - why.now},
          {"transfer_s", why.estimate.transfer},
          {"bytes", why.estimate.bytes},
          {"runs_s", why.estimate.seconds},
          {"measured", why.estimate.measured},
          {"score", why.score},
          {"runner_up", device_json(decision.runner_up)},
          {"runner_up_score", decision.runner_up == nullptr ? json() : json(why.second)},
          {"text", decision.text}};
}

}  // namespace

extern "C" {

cl_device_id remotecl_auto(const char* policy, char** error) {
  std::string text = "no server is connected, or none has a device that runs OpenCL C";
  try {
    if (in_forked_child()) {
      text = forked_text();
    } else {
      if (policy != nullptr) Scheduling::instance().placement().set_policy(policy);
      if (Device* device = Platform::instance().list_automatic_device()) return device->handle();
    }
  } catch (const std::exception& failure) {
    text = failure.what();
  }
  if (error != nullptr) *error = copy_json(json(text));
  return nullptr;
}

int remotecl_set_policy(const remotecl_policy* table, void* self, char** error) {
  std::string text = forked_text();
  try {
    if (!in_forked_child()) {
      Scheduling::instance().placement().set_policy(std::make_unique<schedule::UserPolicy>(table, self));
      return 0;
    }
  } catch (const std::exception& failure) {
    text = failure.what();
  }
  if (error != nullptr) *error = copy_json(json(text));
  return -1;
}

char* remotecl_policy_device(unsigned device) {
  return json_result([&] { return device_json(Scheduling::instance().placement().device(device)); });
}

char* remotecl_explain_event(cl_event event) {
  return json_result([&]() -> json {
    Event* const of = from_handle<Event>(event);
    if (of == nullptr) return nullptr;
    const auto decision = Scheduling::instance().placement().explain(of->id());
    return decision ? decision_json(*decision) : json();
  });
}
}
