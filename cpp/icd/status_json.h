#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/protocol/messages.h"

// What servers tell of themselves, as remotecl.h says.
namespace remotecl {

nlohmann::json traffic_json(const Traffic& traffic);
// `name_of_peer`: the address of one of this process's servers.
nlohmann::json status_json(const Status& status, const std::function<std::string(PeerId)>& name_of_peer);

}  // namespace remotecl
