#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace remotecl::server {

class RejectionCounts;
class Users;
class NativeDriver;
struct DaemonIdentity;
struct StatusReport;

// Who reads metrics once is taken to read them again within this time: longer than anybody waits between two looks.
inline constexpr std::chrono::seconds kMetricsPatience{150};

// What Prometheus gets to read of a daemon. `crashes`: sessions that have ended because their process crashed.
std::string metrics(const StatusReport& report, std::uint64_t crashes, const DaemonIdentity& daemon,
                    const NativeDriver& driver, const Users& users, const RejectionCounts& refusals);

}  // namespace remotecl::server
