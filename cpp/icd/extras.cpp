// Makes known which extras this library was built with.
#ifdef REMOTECL_HAS_RDMA
#include "extras/rdma/rdma_offload.h"
#endif
#ifdef REMOTECL_HAS_SCHEDULING
#include "extras/scheduling/placement/scheduling.h"
#endif

namespace remotecl::icd {
namespace {

// When the library is loaded, because any entry point may be the first one.
struct Extras {
  Extras() {
#ifdef REMOTECL_HAS_RDMA
    use_bulk_offload(rdma_offload());
#endif
#ifdef REMOTECL_HAS_SCHEDULING
    AutomaticDevices::install(Scheduling::instance());
#endif
  }
} g_extras;

}  // namespace
}  // namespace remotecl::icd
