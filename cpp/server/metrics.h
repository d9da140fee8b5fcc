#pragma once

#include <string>

namespace remotecl::server {

class Refusals;
class StatusBoard;
class Users;

// What Prometheus gets to read of a daemon. Who asks once is taken to ask again: devices are looked at for some
// minutes.
std::string metrics(StatusBoard& board, const Users& users, const Refusals& refusals);

}  // namespace remotecl::server
