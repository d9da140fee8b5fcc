#include "runtime/client/objects/handle.h"

namespace remotecl {

const void* g_dispatch_table = nullptr;

}  // namespace remotecl
