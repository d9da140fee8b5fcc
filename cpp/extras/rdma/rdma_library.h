#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <string>

#include "runtime/transport/bulk/rdma_state.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// This machine has no RDMA; what() says what is missing. The remedy is TCP.
class RdmaUnavailable : public ConnectionError {
 public:
  explicit RdmaUnavailable(const std::string& missing)
      : ConnectionError(std::string(rdma_reason::kMissing) + missing) {}
};

// The functions used of libibverbs and librdmacm; the rest of verbs.h is inline.
// clang-format off
#define REMOTECL_VERBS_FUNCTIONS(X) \
  X(ack_cq_events) X(alloc_pd) X(close_device) X(create_comp_channel) X(create_cq) X(dealloc_pd) X(dereg_mr) \
  X(destroy_comp_channel) X(destroy_cq) X(free_device_list) X(get_cq_event) X(get_device_list) \
  X(get_device_name) X(modify_qp) X(open_device) X(query_device) X(query_port) X(reg_mr) \
  X(wc_status_str)
#define REMOTECL_CM_FUNCTIONS(X) \
  X(accept) X(ack_cm_event) X(bind_addr) X(connect) X(create_event_channel) X(create_id) X(create_qp) \
  X(destroy_event_channel) X(destroy_id) X(destroy_qp) X(disconnect) X(event_str) X(get_cm_event) X(listen) \
  X(migrate_id) X(reject) X(resolve_addr) X(resolve_route) X(set_option)
// clang-format on

// The functions of libibverbs and librdmacm (`verbs.reg_mr` is ibv_reg_mr, `cm.listen` is rdma_listen), loaded when
// they are first wanted, so that programs run where there are none. Never unloaded. Any thread.
struct RdmaLibrary {
#define REMOTECL_MEMBER(name) decltype(&::ibv_##name) name = nullptr;
  struct Verbs {
    REMOTECL_VERBS_FUNCTIONS(REMOTECL_MEMBER)
  } verbs;
#undef REMOTECL_MEMBER
#define REMOTECL_MEMBER(name) decltype(&::rdma_##name) name = nullptr;
  struct ConnectionManager {
    REMOTECL_CM_FUNCTIONS(REMOTECL_MEMBER)
  } cm;
#undef REMOTECL_MEMBER

  // Throws RdmaUnavailable if they are not installed.
  static const RdmaLibrary& get();
};

// Like std::strerror(), but thread-safe.
std::string error_text(int error);

}  // namespace remotecl
