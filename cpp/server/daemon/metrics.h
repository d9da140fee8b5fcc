#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace remotecl {
class Store;
}

namespace remotecl::server {

class RejectionCounts;
class Users;
class NativeDriver;
struct DaemonIdentity;
struct StatusReport;

// A reader of metrics is expected to read them again within this time, which is longer than usual scrape
// intervals.
inline constexpr std::chrono::seconds kMetricsPatience{150};

// The text for Prometheus. `crashes`: how many sessions ended because their process crashed. `store`: null if
// there is none.
std::string metrics(const StatusReport& report, std::uint64_t crashes, const DaemonIdentity& daemon,
                    const NativeDriver& driver, const Users& users, const RejectionCounts& refusals, Store* store);

}  // namespace remotecl::server
