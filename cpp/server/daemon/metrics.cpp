#include "server/daemon/metrics.h"

#include <chrono>

#include "runtime/store/store.h"
#include "server/admission/rejection_counts.h"
#include "server/admission/users.h"
#include "server/daemon/metrics_text.h"
#include "server/status/status_collector.h"

namespace remotecl::server {
namespace {

double seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

void add_traffic(MetricsText& text, const std::string& who, const std::string& whose, const Traffic& traffic) {
  const auto add = [&text](double value, const char* channel, const char* direction) {
    text.add(value, {{"channel", channel}, {"direction", direction}});
  };
  text.begin("remotecl_" + who + "_bytes_total", "counter", "Bytes on " + whose + ".");
  add(traffic.bytes_received, "control", "received");
  add(traffic.bytes_sent, "control", "sent");
  add(traffic.bulk_bytes_received, "bulk", "received");
  add(traffic.bulk_bytes_sent, "bulk", "sent");
  text.begin("remotecl_" + who + "_uncompressed_bytes_total", "counter",
             "Bytes on " + whose + " that were compressed, before that.");
  text.add(traffic.compression.received_before, {{"direction", "received"}});
  text.add(traffic.compression.sent_before, {{"direction", "sent"}});
  text.begin("remotecl_" + who + "_compressed_bytes_total", "counter",
             "The same after that, which the bytes of bulk connections include.");
  text.add(traffic.compression.received_after, {{"direction", "received"}});
  text.add(traffic.compression.sent_after, {{"direction", "sent"}});
  text.begin("remotecl_" + who + "_messages_total", "counter",
             "Messages on " + whose + "; on bulk connections whole transfers.");
  add(traffic.messages_received, "control", "received");
  add(traffic.messages_sent, "control", "sent");
  add(traffic.bulk_received, "bulk", "received");
  add(traffic.bulk_sent, "bulk", "sent");
}

void add_rdma(MetricsText& text, const StatusReport::Totals& totals) {
  const auto add = [&](const char* name, const char* type, const char* help, std::uint64_t RdmaTraffic::*value) {
    text.begin(name, type, help);
    text.add(totals.rdma_clients.*value, {{"with", "client"}});
    text.add(totals.rdma_peers.*value, {{"with", "peer"}});
  };
  add("remotecl_rdma_channels", "gauge", "RDMA channels that there are.", &RdmaTraffic::channels);
  add("remotecl_rdma_losses_total", "counter", "RDMA channels that were lost; TCP has gone on.", &RdmaTraffic::losses);
  add("remotecl_rdma_received_bytes_total", "counter", "Bytes that came by RDMA; those of bulk include them.",
      &RdmaTraffic::bytes_received);
  add("remotecl_rdma_sent_bytes_total", "counter", "Bytes that went by RDMA; those of bulk include them.",
      &RdmaTraffic::bytes_sent);
  const auto add_cost = [&](const char* name, const char* help, std::uint64_t RdmaCost::*value) {
    text.begin(name, "counter", help);
    text.add(totals.rdma_costs.clients.*value, {{"with", "client"}});
    text.add(totals.rdma_costs.peers.*value, {{"with", "peer"}});
  };
  add_cost("remotecl_rdma_copied_bytes_total", "Bytes that went or came by RDMA and were copied by a processor.",
           &RdmaCost::bytes_copied);
  add_cost("remotecl_rdma_system_calls_total", "System calls for bytes that went or came by RDMA.",
           &RdmaCost::system_calls);
}

void add_sockets(MetricsText& text, const SocketStatus& sockets) {
  text.begin("remotecl_kernel_sockets", "gauge", "Sockets that kernels have.");
  text.add(sockets.open);
  text.begin("remotecl_kernel_sockets_total", "counter", "Sockets that kernels have had.");
  text.add(sockets.opened);
  text.begin("remotecl_kernel_socket_bytes_total", "counter", "Bytes on sockets of kernels.");
  text.add(sockets.bytes_received, {{"direction", "received"}});
  text.add(sockets.bytes_sent, {{"direction", "sent"}});
}

// Adds one family with a value for each device.
template <class Value>
void add_devices(MetricsText& text, const NativeDriver& driver, std::string_view name, std::string_view type,
                 std::string_view help, Value&& value_of) {
  text.begin(name, type, help);
  for (const auto& device : driver.devices()) {
    text.add(value_of(*device), {{"device", std::to_string(device->index())}, {"name", device->traits().name}});
  }
}

void add_all_devices(MetricsText& text, const NativeDriver& driver, const StatusReport& report) {
  const auto status_of = [&report](const Device& device) { return report.devices[device.index()]; };
  add_devices(text, driver, "remotecl_device_memory_used_bytes", "gauge", "Memory of all sessions' objects.",
              [&status_of](const Device& device) { return status_of(device).memory_used; });
  add_devices(text, driver, "remotecl_device_memory_bytes", "gauge", "Memory that the device has.",
              [](const Device& device) { return device.memory().total(); });
  add_devices(text, driver, "remotecl_device_queued_commands", "gauge", "Commands that were taken and have not ended.",
              [&status_of](const Device& device) { return status_of(device).queue_depth; });
  add_devices(text, driver, "remotecl_device_busy_ratio", "gauge",
              "Part of the last second in which the driver had commands; 0 at the first look.",
              [&status_of](const Device& device) { return status_of(device).busy_permille / 1000.0; });
  add_devices(text, driver, "remotecl_device_busy_seconds_total", "counter",
              "Time in which the driver had commands, since somebody began to look at these metrics.",
              [&status_of](const Device& device) { return static_cast<double>(status_of(device).busy_us) / 1e6; });
}

void add_usage(MetricsText& text, const std::vector<StatusReport::OfUser>& users) {
  const auto add = [&](std::string_view name, std::string_view help, auto value_of) {
    text.begin(name, "counter", help);
    for (const auto& each : users) {
      text.add(value_of(each), {{"user", each.user}, {"device", std::to_string(each.device)}});
    }
  };
  add("remotecl_user_busy_seconds_total",
      "Time in which the driver had commands of the user, since somebody began to look at these metrics.",
      [](const StatusReport::OfUser& each) { return static_cast<double>(each.busy_us) / 1e6; });
  add("remotecl_user_commands_total", "Commands of the user that the driver was given.",
      [](const StatusReport::OfUser& each) { return static_cast<double>(each.commands); });
  add("remotecl_user_placed_kernels_total", "Kernels that automatic devices of the user's programs have placed there.",
      [](const StatusReport::OfUser& each) { return static_cast<double>(each.placed); });
}

void add_users(MetricsText& text, const Users& users) {
  text.begin("remotecl_user_sessions", "gauge",
             "Sessions of each user; default: of all who have no token of their own.");
  for (const auto& user : users.all()) text.add(user->sessions(), {{"user", user->name()}});
  text.begin("remotecl_user_weight", "gauge", "Weight of each of the user's sessions next to others on a device.");
  for (const auto& user : users.all()) text.add(user->weight(), {{"user", user->name()}});
  text.begin("remotecl_user_device_memory_used_bytes", "gauge", "Memory of each user's objects.");
  for (const auto& user : users.all()) {
    for (std::size_t device = 0; device < user->memory()->devices(); ++device) {
      text.add(user->used(device), {{"user", user->name()}, {"device", std::to_string(device)}});
    }
  }
  text.begin("remotecl_user_host_memory_used_bytes", "gauge",
             "Memory of this machine that the messages of each user's sessions have left behind, about.");
  for (const auto& user : users.all()) {
    text.add(user->used(user->memory()->host()), {{"user", user->name()}});
  }
}

// The words for a store's entries, and for the work that finding one saves.
struct StoreWords {
  std::string prefix, entries, things, saved;
};

void add_counts(MetricsText& text, const StoreWords& words, const Store::Counts& counts) {
  text.begin(words.prefix + "_entries", "gauge", words.entries + " in the store.");
  text.add(counts.entries);
  text.begin(words.prefix + "_bytes", "gauge", "What they take on the disk.");
  text.add(counts.bytes);
  text.begin(words.prefix + "_hits_total", "counter",
             words.things + " that were found there, and " + words.saved + ".");
  text.add(counts.hits);
  text.begin(words.prefix + "_misses_total", "counter", words.things + " that were not found there.");
  text.add(counts.misses);
  text.begin(words.prefix + "_failures_total", "counter",
             words.things + " that could not be stored, and entries that were removed because they were damaged.");
  text.add(counts.failed + counts.damaged);
}

void add_store(MetricsText& text, Store& store) {
  add_counts(text, {"remotecl_store", "Built programs", "Programs", "not compiled"}, store.counts());
  Store* const uploads = store.uploads();
  if (uploads == nullptr) return;
  const Store::Counts counts = uploads->counts();
  add_counts(text, {"remotecl_uploads", "Chunks of uploads", "Chunks", "did not travel"}, counts);
  text.begin("remotecl_uploads_found_bytes_total", "counter", "What the chunks that were found had.");
  text.add(counts.hit_bytes);
}

}  // namespace

std::string metrics(const StatusReport& report, std::uint64_t crashes, const DaemonIdentity& daemon,
                    const NativeDriver& driver, const Users& users, const RejectionCounts& refusals, Store* store) {
  const StatusReport::Totals& totals = report.totals;
  MetricsText text;
  text.begin("remotecl_build_info", "gauge", "1, for the release that runs.");
  text.add(1, {{"version", REMOTECL_VERSION}});
  text.begin("remotecl_uptime_seconds", "gauge", "Time since the daemon began.");
  text.add(seconds(std::chrono::steady_clock::now() - daemon.begun));
  text.begin("remotecl_sessions", "gauge", "Sessions that there are.");
  text.add(totals.sessions);
  text.begin("remotecl_sessions_total", "counter", "Sessions that have begun.");
  text.add(totals.begun);
  text.begin("remotecl_sessions_crashed_total", "counter",
             "Sessions that have ended because their process crashed; 0 where they have none of their own.");
  text.add(crashes);
  text.begin("remotecl_connections_refused_total", "counter", "Connections that were refused, by the reason.");
  for (std::size_t why = 0; why < RejectionCounts::kNames.size(); ++why) {
    text.add(refusals.count_of(why), {{"reason", std::string(RejectionCounts::kNames[why])}});
  }
  text.begin("remotecl_commands_total", "counter", "Commands that were taken.");
  text.add(totals.commands);
  add_traffic(text, "client", "connections of clients", totals.clients);
  add_traffic(text, "peer", "links to other servers", totals.peers);
  add_rdma(text, totals);
  add_sockets(text, totals.sockets);
  add_all_devices(text, driver, report);
  add_users(text, users);
  add_usage(text, report.users);
  if (store != nullptr) add_store(text, *store);
  return text.text();
}

}  // namespace remotecl::server
