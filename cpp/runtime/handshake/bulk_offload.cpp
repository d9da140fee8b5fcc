#include "runtime/handshake/bulk_offload.h"

namespace remotecl {
namespace {

BulkOffload* g_offload = nullptr;

}  // namespace

void use_bulk_offload(BulkOffload& offload) { g_offload = &offload; }
BulkOffload* bulk_offload() { return g_offload; }

}  // namespace remotecl
