// The fake driver as the fuzzers have it: two platforms, of which one has PoCL's name and is asked for its habits, and
// nothing that depends on when a thread runs.
#include "fakes/driver/settings.h"

namespace remotecl::fake {

const char* const kDefaultSettings = "threadless,platform=Portable Computing Language,cpu=1;gpu=1";
const void* dispatch_table() { return nullptr; }

}  // namespace remotecl::fake
