#include "icd/root.h"

#include "runtime/client/trace/tracer.h"

namespace remotecl::icd {

Root::Root() { Tracer::instance().sample_for(placement); }

Root& root() {
  static Root& root = *new Root;
  return root;
}

}  // namespace remotecl::icd
