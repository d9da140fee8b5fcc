#include "server/daemon/rdma_options.h"

#include <cstdlib>

#include "runtime/handshake/rdma_wish.h"
#include "runtime/transport/connection.h"
#include "server/driver/external_memory.h"
#include "server/util/log.h"

namespace remotecl::server {

std::unique_ptr<BulkOffloadAcceptor> open_rdma(const std::string& option, const Address& listen) {
  const bool is_word = option.empty() || option == "auto" || option == "off" || option == "require";
  if (!option.empty()) ::setenv("REMOTECL_RDMA", is_word ? option.c_str() : "auto", 1);
  const bool is_required = !is_word || rdma_use() == RdmaUse::kRequire;
  const RdmaState wish = rdma_wish();
  if (wish.kind == RdmaState::Kind::kUnavailable) log_info("no RDMA: {}", wish.reason);
  if (!is_required && !wish.is_wanted()) return nullptr;
  if (bulk_offload() == nullptr) throw ConnectionError("--rdma " + option + ": " + std::string(rdma_reason::kNotBuilt));
  auto rdma = bulk_offload()->accept_at(is_word ? listen.host : option);
  if (!is_required) return rdma;  // listens when the first client asks
  std::string cause;
  if (rdma->addresses(&cause).empty()) throw ConnectionError("--rdma " + option + ": " + cause);
  return rdma;
}

void log_way_to_memory(const NativeDriver& driver) {
  for (const auto& device : driver.devices()) {
    if (device->memory().is_in_process()) continue;
    const LogScope scope({}, device->index());
    log_info("RDMA passes through pinned host memory: the driver {}",
             takes_dma_bufs(device->id()) ? "takes DMA-BUFs of others, and gives none of the device's memory"
                                          : "has no cl_khr_external_memory_dma_buf");
  }
}

}  // namespace remotecl::server
